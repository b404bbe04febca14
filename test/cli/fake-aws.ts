import { type FakeServer, fakeServer } from './fake-server.ts'
import { signatureOf } from './signature.ts'

export interface Account {
  stack: string
  /** Messages that can be had, and messages that somebody has. */
  queue: [visible: number, hidden: number]
  deadLetters: [visible: number, hidden: number]
  oldestSeconds?: number
  hasScheduleGroup: boolean
  secret: string
}

const QUEUE = 'https://sqs.eu-north-1.amazonaws.com/1/shop-queue'
const DEAD_LETTERS = 'https://sqs.eu-north-1.amazonaws.com/1/shop-dead'
const RESOURCES = [
  ['AWS::SQS::Queue', 'WorkflowsWakeupsQueue0A1B2C3D', QUEUE],
  ['AWS::SQS::Queue', 'MyOwnQueue11111111', 'https://sqs.eu-north-1.amazonaws.com/1/mine'],
  ['AWS::SQS::Queue', 'WorkflowsWakeupsDeadLettersDEADBEEF', DEAD_LETTERS],
  ['AWS::Scheduler::ScheduleGroup', 'WorkflowsWakeupsSchedules00C0FFEE', 'shop-schedules'],
] as const

/** As much of CloudFormation, SQS, CloudWatch and Scheduler as the doctor needs. Lets in whoever knows the secret. */
export function fakeAws(account: Account): Promise<FakeServer> {
  return fakeServer(({ request, body }) => {
    if (!signatureOf(request, body)?.isMadeWith(account.secret))
      return refusal(403, 'The request signature does not match')
    const form = new URLSearchParams(body)
    const action = form.get('Action') ?? request.headers['x-amz-target'] ?? `${request.method} ${request.url}`
    if (action === 'ListStackResources')
      return form.get('StackName') === account.stack
        ? { body: page(form.get('NextToken')) }
        : refusal(400, `Stack with id ${form.get('StackName')} does not exist`)
    if (action === 'AmazonSQS.GetQueueAttributes')
      return { body: attributes(account, (JSON.parse(body) as { QueueUrl: string }).QueueUrl) }
    if (action === 'GetMetricStatistics') return { body: datapoints(account) }
    if (action === 'GET /schedule-groups/shop-schedules' && account.hasScheduleGroup)
      return { body: '{"Name":"shop-schedules","State":"ACTIVE"}' }
    return { status: 404, body: '{"__type":"ResourceNotFoundException","Message":"it is not there"}' }
  })
}

/** Two to a page. */
function page(token: string | null): string {
  const from = Number(token ?? 0)
  const members = RESOURCES.slice(from, from + 2).map(
    ([type, logicalId, id]) =>
      `<member><LogicalResourceId>${logicalId}</LogicalResourceId><PhysicalResourceId>${id}</PhysicalResourceId><ResourceType>${type}</ResourceType></member>`,
  )
  const next = from + 2 < RESOURCES.length ? `<NextToken>${from + 2}</NextToken>` : ''
  return `<ListStackResourcesResponse><StackResourceSummaries>${members.join('\n')}</StackResourceSummaries>${next}</ListStackResourcesResponse>`
}

function attributes({ queue, deadLetters }: Account, url: string): string {
  const [visible, hidden] = url === QUEUE ? queue : url === DEAD_LETTERS ? deadLetters : [99, 99]
  return JSON.stringify({
    Attributes: { ApproximateNumberOfMessages: String(visible), ApproximateNumberOfMessagesNotVisible: String(hidden) },
  })
}

/** In no order, as CloudWatch gives them. */
function datapoints({ oldestSeconds }: Account): string {
  const point = (minutesAgo: number, seconds: number) =>
    `<member><Timestamp>${new Date(Date.now() - minutesAgo * 60_000).toISOString()}</Timestamp><Maximum>${seconds}.0</Maximum></member>`
  const points = oldestSeconds === undefined ? '' : point(1, oldestSeconds) + point(3, 1)
  return `<GetMetricStatisticsResponse><Datapoints>${points}</Datapoints></GetMetricStatisticsResponse>`
}

function refusal(status: number, message: string): { status: number; body: string } {
  return {
    status,
    body: `<ErrorResponse><Error><Code>Refused</Code><Message>${message}</Message></Error></ErrorResponse>`,
  }
}
