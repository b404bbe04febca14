import { createHash } from 'node:crypto'
import * as scheduler from '@aws-sdk/client-scheduler'
import * as sqs from '@aws-sdk/client-sqs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as small from '../../functions/small-clients.ts'
import { type Asked, type FakeServer, fakeServer } from '../cli/fake-server.ts'

/** As the AWS world makes its clients. */
const PATIENT = {
  maxAttempts: 8,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
}
/** Its host is the server's, which is not there yet. */
const QueueUrl = 'queue'
const MD5OfMessageBody = createHash('md5').update('{"runId":"ü"}').digest('hex')

/** What the AWS world asks of each, with what AWS answers. */
const CALLS: [service: 'sqs' | 'scheduler', command: string, input: object, answer: object][] = [
  [
    'sqs',
    'SendMessage',
    { QueueUrl, MessageBody: '{"runId":"ü"}', DelaySeconds: 3 },
    { MessageId: 'm', MD5OfMessageBody },
  ],
  [
    'sqs',
    'SendMessageBatch',
    { QueueUrl, Entries: [{ Id: '0', MessageBody: 'a', DelaySeconds: 0 }] },
    { Failed: [{ Id: '0', SenderFault: false, Code: 'InternalError' }] },
  ],
  [
    'sqs',
    'ReceiveMessage',
    { QueueUrl, MaxNumberOfMessages: 2, WaitTimeSeconds: 1, VisibilityTimeout: 30 },
    { Messages: [{ Body: '{"runId":"ü"}', ReceiptHandle: 'r', MessageId: 'm', MD5OfBody: MD5OfMessageBody }] },
  ],
  ['sqs', 'DeleteMessage', { QueueUrl, ReceiptHandle: 'r' }, {}],
  ['sqs', 'ChangeMessageVisibility', { QueueUrl, ReceiptHandle: 'r', VisibilityTimeout: 0 }, {}],
  [
    'scheduler',
    'CreateSchedule',
    {
      Name: 'wake-a_b.c',
      GroupName: 'overwinter',
      ScheduleExpression: 'at(2026-01-01T00:00:00)',
      ScheduleExpressionTimezone: 'UTC',
      FlexibleTimeWindow: { Mode: 'OFF' },
      ActionAfterCompletion: 'DELETE',
      Target: { Arn: 'arn:queue', RoleArn: 'arn:role', Input: '{"runId":"ü"}' },
    },
    { ScheduleArn: 'arn:schedule' },
  ],
  ['scheduler', 'DeleteSchedule', { Name: 'wake-a_b.c', GroupName: 'overwinter' }, {}],
]

type Sending = { send(command: object): Promise<Record<string, unknown>>; destroy(): void }
// biome-ignore lint/suspicious/noExplicitAny: two modules with the same names
const MODULES: Record<string, any> = { sqs, scheduler, small }

describe('the small clients of SQS and Scheduler', () => {
  let server: FakeServer
  let answer: () => { status?: number; body: string }

  beforeEach(async () => {
    server = await fakeServer(() => answer())
    const env = {
      AWS_ENDPOINT_URL: server.url,
      AWS_REGION: 'eu-north-1',
      AWS_ACCESS_KEY_ID: 'A',
      AWS_SECRET_ACCESS_KEY: 'B',
      AWS_SESSION_TOKEN: 'C',
    }
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'runner')
    vi.stubEnv(
      '_X_AMZN_TRACE_ID',
      'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1;Lineage=1:a87bd80c:3',
    )
  })
  afterEach(async () => {
    vi.unstubAllEnvs()
    await server[Symbol.asyncDispose]()
  })

  async function send(
    module: string,
    service: 'sqs' | 'scheduler',
    command: string,
    input: object,
  ): Promise<Record<string, unknown>> {
    const { [service === 'sqs' ? 'SQSClient' : 'SchedulerClient']: Client, [`${command}Command`]: Command } =
      MODULES[module]
    const client = new Client(PATIENT) as Sending
    try {
      const { $metadata: _, ...output } = await client.send(
        new Command('QueueUrl' in input ? { ...input, QueueUrl: `${server.url}/000000000000/wakes` } : input),
      )
      return output
    } finally {
      client.destroy()
    }
  }

  it.each(CALLS)(
    'ask %s for %s as those of the SDK do, and give the same back',
    async (service, command, input, answered) => {
      answer = () => ({ body: JSON.stringify(answered) })
      const theirs = await send(service, service, command, input)
      const ours = await send('small', service, command, input)
      expect(ours).toEqual(theirs)
      expect(server.asked.map(essence)[1]).toEqual(server.asked.map(essence)[0])
    },
  )

  it.each([
    ['sqs', 'DeleteMessage', 400, 'com.amazonaws.sqs#ReceiptHandleIsInvalid'],
    ['sqs', 'ChangeMessageVisibility', 400, 'com.amazonaws.sqs#MessageNotInflight'],
    ['sqs', 'SendMessage', 403, 'com.amazon.coral.service#AccessDeniedException'],
    ['scheduler', 'CreateSchedule', 409, 'ConflictException'],
    ['scheduler', 'DeleteSchedule', 404, 'ResourceNotFoundException'],
    ['scheduler', 'CreateSchedule', 400, 'ValidationException'],
  ] as const)('tell of errors as those of the SDK do: %s %s, %i %s', async (service, command, status, __type) => {
    answer = () => ({ status, body: JSON.stringify({ __type, message: 'no, thank you' }) })
    const input = CALLS.find(([, name]) => name === command)![2]
    const errors = await Promise.all(
      [service, 'small'].map((module) => send(module, service, command, input).catch((error: Error) => error)),
    )
    const [theirs, ours] = errors as [Error, Error]
    expect([ours.name, ours.message]).toEqual([theirs.name, theirs.message])
    for (const name of [
      'ReceiptHandleIsInvalid',
      'MessageNotInflight',
      'ConflictException',
      'ResourceNotFoundException',
    ]) {
      const isA = (error: Error, Class: typeof Error | undefined) => Class !== undefined && error instanceof Class
      expect(isA(ours, MODULES.small[name])).toBe(isA(theirs, MODULES[service][name]))
    }
    expect(server.asked).toHaveLength(2)
  })

  it.each(['sqs', 'small'])('of %s try again when AWS is busy or broken, as the same call', async (module) => {
    const busy = [
      { status: 500, body: '' },
      { status: 400, body: JSON.stringify({ __type: 'com.amazonaws.sqs#RequestThrottled', message: 'slow down' }) },
      { status: 503, body: 'not even JSON' },
    ]
    answer = () => busy.shift() ?? { body: JSON.stringify({ MessageId: 'm', MD5OfMessageBody }) }
    expect(await send(module, 'sqs', 'SendMessage', CALLS[0]![2])).toMatchObject({ MessageId: 'm' })
    expect(new Set(server.asked.map(({ body }) => body)).size).toBe(1)
    expect(server.asked).toHaveLength(4)
  })
})

/** All that a service goes by; a token is another one each time. */
function essence({ request: { method, url, headers }, body }: Asked) {
  const { pathname, searchParams } = new URL(url!, 'http://aws')
  const { ClientToken, ...said } = (body === '' ? {} : JSON.parse(body)) as { ClientToken?: string }
  const token = ClientToken ?? searchParams.get('clientToken')
  searchParams.delete('clientToken')
  const scope = /Credential=[^/]*\/\d*\/([^,]*)/.exec(headers.authorization!)?.[1]
  const {
    'content-type': type,
    'x-amz-target': target,
    'x-amzn-trace-id': trace,
    'x-amz-security-token': session,
  } = headers
  return {
    method,
    pathname,
    query: Object.fromEntries(searchParams),
    said,
    hasToken: Boolean(token),
    scope,
    type,
    target,
    trace,
    session,
  }
}
