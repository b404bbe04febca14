import type { AwsClients } from '../../sdk/worlds/aws/clients.ts'

/**
 * `before`: the call never reaches AWS. `after`: it is carried out, and its answer gets lost.
 */
export type When = 'before' | 'after'

/**
 * `retried`: one attempt fails, and the SDK goes on to the next. `thrown`: the call as a whole fails, as if all attempts
 * had; for the product this is the death of the process that made it.
 */
export type Depth = 'retried' | 'thrown'

export interface Fault {
  /** The number of the call to spoil, from 1. */
  call: number
  when: When
  depth: Depth
  error: () => Error
  /** What happens between the call and its repetition. */
  meanwhile?: () => Promise<unknown>
}

/** Counts the calls of a set of clients and spoils one of them. */
export class Faults {
  calls = 0
  fault: Fault | undefined
  /** What was spoilt, for messages. */
  hit: string | undefined
  /** Calls are told apart by their context: several may be under way. */
  private readonly numbers = new WeakMap<object, number>()

  install(clients: AwsClients): void {
    // The SDK repeats what fails in its last steps, and not what fails before them.
    for (const client of [clients.dynamodb, clients.sqs, clients.scheduler] as AwsClients['dynamodb'][]) {
      client.middlewareStack.add(
        (next, context) => async (args) => {
          this.numbers.set(context, ++this.calls)
          return this.spoil(context, 'thrown', () => next(args))
        },
        { step: 'initialize', name: 'countedFault', priority: 'high' },
      )
      client.middlewareStack.add((next, context) => (args) => this.spoil(context, 'retried', () => next(args)), {
        step: 'finalizeRequest',
        name: 'retriedFault',
        priority: 'low',
      })
    }
  }

  private async spoil<T>(context: { commandName?: string }, depth: Depth, carryOut: () => Promise<T>): Promise<T> {
    const { fault } = this
    const call = this.numbers.get(context)
    // Never quite as fast as the time before, so that calls which race do not always end in the same order.
    if (depth === 'thrown') await new Promise((resolve) => setTimeout(resolve, Math.random() * 2))
    if (!fault || fault.call !== call || fault.depth !== depth) return carryOut()
    this.fault = undefined
    this.hit = `${context.commandName} (call ${call}, ${fault.when}, ${depth})`
    if (fault.when === 'after') await carryOut().catch(() => {})
    await fault.meanwhile?.()
    throw fault.error()
  }
}

const withStatus = (name: string, httpStatusCode: number) => () =>
  Object.assign(new Error(`${name}, made by the test`), { name, $metadata: { httpStatusCode } })

export const throttled = withStatus('ThrottlingException', 400)
export const serverError = withStatus('InternalServerError', 500)
export const timedOut = () =>
  Object.assign(new Error('the answer did not come in time, made by the test'), { name: 'TimeoutError' })
