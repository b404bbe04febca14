import { FatalError, InvalidInputError } from '../base/errors.ts'
import type { Functions } from '../ports/world.ts'

/** What a function is given beside its payload. */
export interface InvocationTools {
  /** The same for every attempt. On AWS it is in the client context, as `custom.idempotencyKey`. */
  readonly idempotencyKey: string
  /** Aborted when the step that called it no longer waits for the answer. */
  readonly signal: AbortSignal
}

/** Takes the place of a Lambda function where there is none. */
export interface LocalFunction {
  readonly functionName: string
  // biome-ignore lint/suspicious/noExplicitAny: the function says itself what it expects
  readonly invoked: (payload: any, tools: InvocationTools) => unknown
}

/**
 * What `ctx.invoke(functionName, …)` calls in `overwinter dev`, in tests and in a local world, which find it by its
 * export from the entry file. On AWS the Lambda function of this name is invoked instead.
 */
// biome-ignore lint/suspicious/noExplicitAny: as above
export function localFunction<P = any>(
  functionName: string,
  invoked: (payload: P, tools: InvocationTools) => unknown,
): LocalFunction {
  if (typeof functionName !== 'string' || functionName === '')
    throw new InvalidInputError('localFunction: the first argument must be the name of the function')
  if (typeof invoked !== 'function')
    throw new InvalidInputError(`localFunction '${functionName}': the last argument must be what is called`)
  return { functionName, invoked }
}

/** The functions of a world without Lambda. What goes in and comes out is what Lambda would let through. */
export function localFunctions(list: readonly LocalFunction[]): Functions {
  const byName = new Map<string, LocalFunction>()
  for (const each of list) {
    if (byName.has(each.functionName))
      throw new InvalidInputError(`two local functions are named '${each.functionName}'; give one of them another name`)
    byName.set(each.functionName, each)
  }
  return {
    async invoke(name, payload, tools) {
      const found = byName.get(name) ?? byName.get(plainName(name))
      if (!found) {
        throw new FatalError(
          `there is no function '${name}' here. Export one from the entry file, or give it to the world as one ` +
            'of its `functions`: ' +
            `localFunction('${plainName(name)}', async (payload) => …); there are: ` +
            `${[...byName.keys()].join(', ') || 'none'}`,
        )
      }
      try {
        return asJson(await found.invoked(payload, tools))
      } catch (error) {
        throw asLambdaTells(name, error)
      }
    },
  }
}

/** What Lambda makes of an answer. */
const asJson = (answer: unknown): unknown =>
  answer === undefined ? undefined : JSON.parse(JSON.stringify(answer) ?? 'null')

/**
 * Lambda passes on a name and a message, and not that an error was a fatal one. The cause shows the line to readers
 * of the log.
 */
function asLambdaTells(name: string, thrown: unknown): Error {
  const { name: type, message } = thrown instanceof Error ? thrown : { name: 'Error', message: String(thrown) }
  return Object.assign(new Error(`function '${name}' failed: ${message}`, { cause: thrown }), { name: type })
}

/** `charge` of `charge`, `charge:live`, and `arn:aws:lambda:eu-west-1:123456789012:function:charge:live`. */
function plainName(name: string): string {
  const parts = name.split(':')
  return name.startsWith('arn:') ? (parts[6] ?? name) : parts[0]!
}
