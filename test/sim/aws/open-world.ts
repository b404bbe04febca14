import { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'
import { createTableInput, TABLE } from '../../../sdk/worlds/aws/table.ts'
import { AwsWorld, type AwsWorldConfig } from '../../../sdk/worlds/aws/world.ts'
import { AwsInMemory } from './aws-in-memory.ts'
import type { Attempt, Fate } from './network.ts'
import type { LifecycleRule } from './objects.ts'

interface Options {
  seed: string
  /** Each gets a queue. */
  taskTypes?: readonly string[]
  lifecycle?: LifecycleRule[]
  /** Called for every call; it comes to no harm. */
  onCall?: (attempt: Attempt) => void
  config?: Partial<AwsWorldConfig>
}

const PROMPT: Fate = { outcome: 'done', thereMs: 0, backMs: 0 }

/** The AWS world on AWS in memory that does what it is asked at once, under virtual time. */
export function openAwsInMemory({ seed, taskTypes = [], lifecycle = [], onCall, config }: Options) {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  const aws = new AwsInMemory({ seed, clock, lifecycle })
  const table = aws.createTable(createTableInput('runs'), { timeToLive: TABLE.timeToLive })
  const wakes = aws.sqs.createQueue('wakes')
  const tasks = new Map(taskTypes.map((type, i) => [type, aws.sqs.createQueue(`task-${i}`)]))
  const fate =
    onCall &&
    ((attempt: Attempt) => {
      onCall(attempt)
      return PROMPT
    })
  const network = fate ? aws.network('test', fate) : aws.network('test')
  const clients = aws.clientsOf(network)
  /** Each call is a process of its own. */
  const openWorld = () =>
    new AwsWorld({
      table: 'runs',
      bucket: 'payloads',
      queueUrl: wakes.url,
      queueArn: wakes.arn,
      schedulerGroup: 'overwinter',
      schedulerRoleArn: 'arn:aws:iam::000000000000:role/scheduler',
      taskQueues: Object.fromEntries([...tasks].map(([type, { url }]) => [type, url])),
      clients,
      objects: aws.objectsOf(network),
      clock,
      log: () => {},
      ...config,
    })
  return { world: openWorld(), openWorld, clients, clock, aws, table, tasks }
}
