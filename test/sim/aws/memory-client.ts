import { METADATA } from './errors.ts'

const OK = { $metadata: { ...METADATA, httpStatusCode: 200 } }

/** What the document client hooks its own middleware to; it is never reached. */
const ANCHORS = ['serializerMiddleware', 'deserializerMiddleware']

/** One call of a client, before anything was made of it. */
export interface Call {
  name: string
  input: object
  command: { middlewareStack: { remove(name: string): boolean } }
  abortSignal: AbortSignal | undefined
}

interface Stack {
  identify(): string[]
  remove(name: string): boolean
  add(middleware: unknown, options: object): void
}

interface Client {
  config: object
  middlewareStack: { clone(): object }
}

/** Takes away all that would never run: resolving the stack is most of what a call costs. */
export function stripped<C extends Client>(client: C): C {
  const stack = stackOf(client)
  for (const line of stack.identify()) {
    const [name] = line.split(/ - | \(/)
    if (!ANCHORS.includes(name!)) stack.remove(name!)
  }
  return client
}

/** Another client of the same class. Making one the usual way takes as long as a dozen calls, and there are many processes. */
export function likeness<C extends Client>(client: C): C {
  const copy = Object.create(Object.getPrototypeOf(client)) as C
  return Object.assign(copy, client, { config: { ...client.config }, middlewareStack: client.middlewareStack.clone() })
}

/** Puts the answer at the very beginning of the stack, where no serializer, signer, retry or timer has been reached yet. */
export function answerFromMemory(client: Client, answer: (call: Call) => Promise<object>): void {
  const middleware = (
    _next: unknown,
    context: { commandName: string; __smithy_context: { commandInstance: Call['command']; abortSignal?: AbortSignal } },
  ) => {
    const { commandInstance: command, abortSignal } = context.__smithy_context
    return async ({ input }: { input: object }) => {
      const output = await answer({ name: context.commandName, input, command, abortSignal })
      return { response: {}, output: { ...output, ...OK } }
    }
  }
  stackOf(client).add(middleware, { step: 'initialize', priority: 'high', name: 'answerFromMemory' })
}

const stackOf = (client: Client): Stack => client.middlewareStack as unknown as Stack
