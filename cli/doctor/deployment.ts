import { GetScheduleGroupCommand, ResourceNotFoundException } from '@aws-sdk/client-scheduler'
import { GetQueueAttributesCommand, type QueueAttributeName } from '@aws-sdk/client-sqs'
import { span } from '../../sdk/views/moments.ts'
import { type AwsAccount, tag } from '../aws-account.ts'
import type { Check } from './checks.ts'

interface Resource {
  type: string
  logicalId: string
  id: string
}

/** The threshold of the alarm QueueAge. */
const OLD_MS = 300_000
const MINUTE_MS = 60_000
const COUNTS: QueueAttributeName[] = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible']
/** The names that CDK gives the construct's resources, without its eight digits. */
const OURS = {
  queue: /WakeupsQueue[0-9A-F]{8}$/,
  deadLetters: /WakeupsDeadLetters[0-9A-F]{8}$/,
  schedules: /WakeupsSchedules[0-9A-F]{8}$/,
}
const UNCHECKED = 'queues, dead letters and the schedule group were not checked'

/** Checks that the HTTP API cannot make: it reads the stack's resources with AWS credentials. */
export async function checkDeployment(account: AwsAccount, stack: string): Promise<Check[]> {
  try {
    const resources = await stackResources(account, stack)
    const ours = (what: keyof typeof OURS) => resources.filter(({ logicalId }) => OURS[what].test(logicalId))
    if (ours('queue').length === 0)
      return [{ name: 'stack', state: 'bad', text: `there is no Overwinter in the stack ${stack}; ${UNCHECKED}` }]
    const checks = [
      ...ours('queue').map(({ id }) => checkQueue(account, id)),
      ...ours('deadLetters').map(({ id }) => checkDeadLetters(account, id)),
      ...ours('schedules').map(({ id }) => checkScheduleGroup(account, id)),
    ]
    return await Promise.all(checks)
  } catch (error) {
    return [{ name: 'stack', state: 'bad', text: `${UNCHECKED}: ${(error as Error).message}` }]
  }
}

/** Reported when --stack was not given. */
export const deploymentUnchecked: Check = {
  name: 'stack',
  state: 'skipped',
  text: `${UNCHECKED}; --stack <name> does, with AWS credentials`,
}

async function stackResources(account: AwsAccount, StackName: string): Promise<Resource[]> {
  const resources: Resource[] = []
  let NextToken: string | undefined
  do {
    const xml = await account.query('cloudformation', 'ListStackResources', {
      StackName,
      ...(NextToken !== undefined && { NextToken }),
    })
    for (const [, member] of xml.matchAll(/<member>([\s\S]*?)<\/member>/g)) {
      const read = (name: string) => tag(member!, name) ?? ''
      resources.push({
        type: read('ResourceType'),
        logicalId: read('LogicalResourceId'),
        id: read('PhysicalResourceId'),
      })
    }
    NextToken = tag(xml, 'NextToken')
  } while (NextToken !== undefined)
  return resources
}

async function checkQueue(account: AwsAccount, url: string): Promise<Check> {
  const [{ visible, hidden }, ageMs] = await Promise.all([depthOf(account, url), ageOfOldest(account, url)])
  const age = ageMs === undefined || visible === 0 ? '' : `, the oldest for ${span(ageMs)}`
  const text = `${visible} wake-ups wait in the queue${age}; ${hidden} are with runners`
  if (visible === 0 || ageMs === undefined || ageMs < OLD_MS) return { name: 'queue', state: 'ok', text }
  return { name: 'queue', state: 'bad', text: `${text}. Is the runner failing, or its concurrency used up?` }
}

async function checkDeadLetters(account: AwsAccount, url: string): Promise<Check> {
  const { visible, hidden } = await depthOf(account, url)
  const count = visible + hidden
  if (count === 0) return { name: 'dead-letters', state: 'ok', text: 'there are no dead letters' }
  const text =
    `${count} dead letter${count === 1 ? '' : 's'}: runs that could not be marked as stuck, or ` +
    'messages of another sender; see the log of the dead-letters function'
  return { name: 'dead-letters', state: 'bad', text }
}

async function checkScheduleGroup(account: AwsAccount, Name: string): Promise<Check> {
  try {
    const { State } = await account.scheduler.send(new GetScheduleGroupCommand({ Name }))
    if (State === 'ACTIVE') return { name: 'schedule-group', state: 'ok', text: `the schedule group ${Name} is there` }
    return {
      name: 'schedule-group',
      state: 'bad',
      text: `the schedule group ${Name} is ${State}: long sleeps cannot be armed`,
    }
  } catch (error) {
    if (!(error instanceof ResourceNotFoundException)) throw error
    return {
      name: 'schedule-group',
      state: 'bad',
      text: `the schedule group ${Name} is gone: long sleeps cannot be armed; deploy the stack anew`,
    }
  }
}

async function depthOf(account: AwsAccount, QueueUrl: string): Promise<{ visible: number; hidden: number }> {
  const { Attributes = {} } = await account.sqs.send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: COUNTS }),
  )
  const [visible, hidden] = COUNTS.map((name) => Number(Attributes[name] ?? 0)) as [number, number]
  return { visible, hidden }
}

/** SQS does not report it; CloudWatch does, some minutes late, and only while the queue is in use. */
async function ageOfOldest(account: AwsAccount, queueUrl: string): Promise<number | undefined> {
  const now = Date.now()
  const xml = await account.query('monitoring', 'GetMetricStatistics', {
    Namespace: 'AWS/SQS',
    MetricName: 'ApproximateAgeOfOldestMessage',
    'Dimensions.member.1.Name': 'QueueName',
    'Dimensions.member.1.Value': queueUrl.split('/').at(-1)!,
    StartTime: new Date(now - 10 * MINUTE_MS).toISOString(),
    EndTime: new Date(now).toISOString(),
    Period: '60',
    'Statistics.member.1': 'Maximum',
  })
  const points = [...xml.matchAll(/<member>([\s\S]*?)<\/member>/g)].map(([, member]) => ({
    at: Date.parse(tag(member!, 'Timestamp') ?? ''),
    seconds: Number(tag(member!, 'Maximum')),
  }))
  const latest = points.sort((a, b) => a.at - b.at).at(-1)
  return latest && latest.seconds * 1_000
}
