import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AwsInMemory } from '../../test/sim/aws/aws-in-memory.ts'

type Fields = Record<string, unknown>
type Commands = Record<string, (input: never, signal?: AbortSignal) => object | Promise<object>>

export interface Endpoint extends AsyncDisposable {
  url: string
  /** How many calls were answered since this was asked last. */
  takeCalls(): number
}

/** AWS in memory on a port of 127.0.0.1, for processes whose AWS_ENDPOINT_URL says so. It answers at once. */
export async function serveAws(aws: () => AwsInMemory): Promise<Endpoint> {
  let calls = 0
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    calls += 1
    const { status, answer } = await answerTo(aws(), request, body)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer, bytesAsBase64))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    takeCalls() {
      const taken = calls
      calls = 0
      return taken
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

interface Answer {
  status: number
  answer: object
}

async function answerTo(aws: AwsInMemory, { headers, url, method }: IncomingMessage, body: string): Promise<Answer> {
  const [service = '', action = ''] = String(headers['x-amz-target'] ?? `${method} ${url}`).split('.')
  const input = (body === '' ? {} : JSON.parse(body, base64AsBytes)) as Fields
  if (service.startsWith('DynamoDB_')) return carryOut(aws.dynamodb.commands as Commands, action, input)
  if (service === 'AmazonSQS') return withDigest(input, await carryOut(aws.sqs.commands as Commands, action, input))
  if (service === 'AWSEvents') return done({ FailedEntryCount: 0, Entries: [{ EventId: 'e' }] })
  if (service === 'secretsmanager') return done({ SecretString: 'a secret' })
  // AWS's durable SDK, which saves a checkpoint.
  if (url?.includes('/durable-executions/'))
    return done({ CheckpointToken: 'next', NewExecutionState: { Operations: [] } })
  throw new Error(`nothing here answers ${service}.${action}`)
}

async function carryOut(commands: Commands, action: string, input: Fields): Promise<Answer> {
  try {
    return done(await commands[`${action}Command`]!(input as never))
  } catch (error) {
    const { name, message, Item } = error as Error & { Item?: object }
    return { status: 400, answer: { __type: `com.amazonaws#${name}`, message, Item } }
  }
}

/** The SDK checks that a message has arrived as it was sent. */
function withDigest({ MessageBody }: Fields, { status, answer }: Answer): Answer {
  if (typeof MessageBody !== 'string') return { status, answer }
  return { status, answer: { ...answer, MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex') } }
}

const done = (answer: object): Answer => ({ status: 200, answer })

/** On the wire an attribute `{ B }` is base64. */
function base64AsBytes(name: string, value: unknown): unknown {
  return name === 'B' && typeof value === 'string' ? new Uint8Array(Buffer.from(value, 'base64')) : value
}

function bytesAsBase64(_name: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}
