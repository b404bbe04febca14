import { createHash, createHmac, type Hash } from 'node:crypto'
import { SignedFetch, type SignedRequest } from '../sdk/worlds/aws/signed-fetch.ts'

/**
 * Replaces the clients of SQS and EventBridge Scheduler in the bundles, as far as the AWS world uses them:
 * five calls and two. The SDK's clients are a tenth of the runner's bundle, and so of its cold start. Only
 * our own code gets these (`imports` in package.json); user code gets the SDK's.
 */

interface Options {
  maxAttempts: number
  requestHandler: { requestTimeout: number }
}

interface CallOptions {
  abortSignal?: AbortSignal
  requestTimeout?: number
}

type Call<Output> = Pick<SignedRequest, 'service' | 'path' | 'method' | 'body' | 'headers'> & { '~output'?: Output }

/** Region, credentials and hashes as the SDK's clients have them in Lambda. */
const config = {
  region: async () => process.env.AWS_REGION!,
  // Lambda sets them in the environment.
  credentials: async () => ({
    accessKeyId: process.env.AWS_ACCESS_KEY_ID!,
    secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY!,
    ...(process.env.AWS_SESSION_TOKEN && { sessionToken: process.env.AWS_SESSION_TOKEN }),
  }),
  sha256: class {
    private readonly hash: Hash

    constructor(secret?: string | Uint8Array) {
      this.hash = secret === undefined ? createHash('sha256') : (createHmac('sha256', secret) as unknown as Hash)
    }

    update(data: string | Uint8Array): void {
      this.hash.update(data)
    }

    async digest(): Promise<Uint8Array> {
      return this.hash.digest()
    }
  },
}

class SmallClient {
  private readonly aws = new SignedFetch({ config } as unknown as ConstructorParameters<typeof SignedFetch>[0])
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
  }

  async send<Output>(
    { call }: { call: Call<Output> },
    { abortSignal, requestTimeout }: CallOptions = {},
  ): Promise<Output> {
    const response = await this.aws.send({
      ...call,
      host: call.service,
      headers: { ...call.headers, ...traceHeader() },
      timeoutMs: requestTimeout ?? this.options.requestHandler.requestTimeout,
      attempts: this.options.maxAttempts,
      ...(abortSignal && { signal: abortSignal }),
    })
    const text = await response.text()
    if (!response.ok) throw errorOf(response, text)
    return (text === '' ? {} : JSON.parse(text)) as Output
  }

  destroy(): void {}
}

/** Lets traces, and Lambda's loop detection, follow a message to the function that it wakes. */
function traceHeader(): Record<string, string> {
  const { AWS_LAMBDA_FUNCTION_NAME, _X_AMZN_TRACE_ID } = process.env
  return AWS_LAMBDA_FUNCTION_NAME && _X_AMZN_TRACE_ID ? { 'x-amzn-trace-id': _X_AMZN_TRACE_ID } : {}
}

/**
 * Names an error as the service does: SQS in a header of its own, if the name differs, and all services in
 * the body or in a header.
 */
function errorOf(response: Response, text: string): Error {
  const { status, headers } = response
  const body = parsed(text)
  const type = (headers.get('x-amzn-errortype') ?? body.__type ?? '').split('#').at(-1)!.split(':')[0]!
  const message = body.message ?? body.Message ?? (text.slice(0, 300) || `AWS answered with ${status}`)
  const Known = KNOWN[type]
  if (Known) return new Known(message)
  const name = headers.get('x-amzn-query-error')?.split(';')[0] || type || 'UnknownError'
  return Object.assign(new Error(message), { name, $metadata: { httpStatusCode: status } })
}

function parsed(text: string): { __type?: string; message?: string; Message?: string } {
  try {
    return JSON.parse(text) as object
  } catch {
    return {}
  }
}

/** Names are explicit, because minifying changes those of classes. */
export class MessageNotInflight extends Error {
  override name = 'MessageNotInflight'
}
export class ReceiptHandleIsInvalid extends Error {
  override name = 'ReceiptHandleIsInvalid'
}
export class ConflictException extends Error {
  override name = 'ConflictException'
}
export class ResourceNotFoundException extends Error {
  override name = 'ResourceNotFoundException'
}
const KNOWN: Record<string, new (message: string) => Error> = {
  MessageNotInflight,
  ReceiptHandleIsInvalid,
  ConflictException,
  ResourceNotFoundException,
}

class SqsCommand {
  readonly call: Call<Record<string, unknown>>

  constructor(action: string, input: object) {
    this.call = {
      service: 'sqs',
      path: { aws: '/', standIn: '/' },
      method: 'POST',
      body: JSON.stringify(input),
      headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${action}` },
    }
  }
}

export class SQSClient extends SmallClient {}
export class SendMessageCommand extends SqsCommand {
  constructor(input: object) {
    super('SendMessage', input)
  }
}
export class SendMessageBatchCommand extends SqsCommand {
  constructor(input: object) {
    super('SendMessageBatch', input)
  }
}
export class ReceiveMessageCommand extends SqsCommand {
  constructor(input: object) {
    super('ReceiveMessage', input)
  }
}
export class DeleteMessageCommand extends SqsCommand {
  constructor(input: object) {
    super('DeleteMessage', input)
  }
}
export class ChangeMessageVisibilityCommand extends SqsCommand {
  constructor(input: object) {
    super('ChangeMessageVisibility', input)
  }
}

export class SchedulerClient extends SmallClient {}
export class CreateScheduleCommand {
  readonly call: Call<object>

  /** The same for every attempt, so that a retry after a lost answer causes no conflict. */
  constructor({ Name, ...input }: { Name: string }, ClientToken = crypto.randomUUID()) {
    const path = `/schedules/${encodeURIComponent(Name)}`
    const headers = { 'content-type': 'application/json' }
    this.call = {
      service: 'scheduler',
      path: { aws: path, standIn: path },
      method: 'POST',
      headers,
      body: JSON.stringify({ ClientToken, ...input }),
    }
  }
}
export class DeleteScheduleCommand {
  readonly call: Call<object>

  constructor({ Name, GroupName }: { Name: string; GroupName: string }, clientToken = crypto.randomUUID()) {
    const path = `/schedules/${encodeURIComponent(Name)}?${new URLSearchParams({ groupName: GroupName, clientToken })}`
    this.call = { service: 'scheduler', path: { aws: path, standIn: path }, method: 'DELETE' }
  }
}
