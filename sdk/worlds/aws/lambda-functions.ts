import { FatalError } from '../../base/errors.ts'
import type { Json } from '../../base/json.ts'
import type { Functions } from '../../ports/world.ts'
import type { SignedFetch } from './signed-fetch.ts'

/** Errors that a retry cannot fix. */
const HOPELESS: Record<number, string> = {
  403: 'the runner may not invoke it; name it in the construct’s `invokes`',
  404: 'there is no such function',
  413: 'the payload is too large for Lambda',
}

/**
 * `ctx.invoke`: other Lambda functions. The idempotency key travels in the client context, where a
 * function can read it.
 */
export class LambdaFunctions implements Functions {
  private readonly aws: SignedFetch

  constructor(aws: SignedFetch) {
    this.aws = aws
  }

  async invoke(
    name: string,
    payload: Json | undefined,
    { idempotencyKey, signal }: { idempotencyKey: string; signal: AbortSignal },
  ): Promise<unknown> {
    const path = `/2015-03-31/functions/${encodeURIComponent(name)}/invocations`
    const response = await this.aws.send({
      service: 'lambda',
      path,
      body: payload === undefined ? '' : JSON.stringify(payload),
      headers: {
        'x-amz-client-context': Buffer.from(JSON.stringify({ custom: { idempotencyKey } })).toString('base64'),
      },
      signal,
      // The step's own retry policy decides whether to try again.
      attempts: 1,
    })
    const text = await response.text()
    if (!response.ok) throw refused(name, response.status, text)
    const answer: unknown = text === '' ? undefined : JSON.parse(text)
    if (response.headers.has('x-amz-function-error')) throw failed(name, answer)
    return answer
  }
}

function refused(name: string, status: number, text: string): Error {
  const why = HOPELESS[status]
  const message = `function '${name}' could not be invoked (${status})${why ? `: ${why}` : ''}. ${text.slice(0, 300)}`
  return why ? new FatalError(message) : new Error(message)
}

/** The function's error, as far as Lambda reports it. */
function failed(name: string, answer: unknown): Error {
  const { errorType, errorMessage } = (answer ?? {}) as { errorType?: string; errorMessage?: string }
  const error = new Error(`function '${name}' failed: ${errorMessage ?? 'it did not say why'}`)
  return Object.assign(error, { name: errorType ?? 'Error' })
}
