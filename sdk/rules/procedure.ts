/**
 * A procedure is a rule that has to look at what is stored, written once as a generator. Whenever it asks the world
 * for something it yields the answer. A world that answers at once carries it out in one go, inside one
 * transaction; a world that answers later does so call by call, and there the order of the calls is what keeps the
 * invariants.
 */
// biome-ignore lint/suspicious/noExplicitAny: a generator has one type for all that it gets; `ask` casts
export type Procedure<T> = Generator<unknown, T, any>

/** The answer itself, whenever it comes. */
export function* ask<T>(answer: T | Promise<T>): Procedure<T> {
  return (yield answer) as T
}

class Together {
  readonly procedures: readonly Procedure<unknown>[]
  constructor(procedures: readonly Procedure<unknown>[]) {
    this.procedures = procedures
  }
}

/** Procedures that need not wait for each other. The results keep the order. */
export function* together<T>(procedures: readonly Procedure<T>[]): Procedure<T[]> {
  if (procedures.length === 0) return []
  if (procedures.length === 1) return [yield* procedures[0]!]
  return (yield new Together(procedures)) as T[]
}

export function inOneGo<T>(procedure: Procedure<T>): T {
  let next = procedure.next()
  while (!next.done)
    next = procedure.next(next.value instanceof Together ? next.value.procedures.map(inOneGo) : next.value)
  return next.value
}

export async function callByCall<T>(procedure: Procedure<T>): Promise<T> {
  let next = procedure.next()
  while (!next.done) {
    let answer: unknown
    try {
      answer = await (next.value instanceof Together ? inParallel(next.value.procedures, callByCall) : next.value)
    } catch (error) {
      next = procedure.throw(error)
      continue
    }
    next = procedure.next(answer)
  }
  return next.value
}

/** Enough to hide the latency of a call, and few enough for one connection pool and one partition. */
const AT_ONCE = 25

/** Like `Promise.all`, but without opening a thousand connections for a thousand items. Results keep the order. */
export async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = Array.from({ length: items.length })
  let next = 0
  const worker = async () => {
    while (next < items.length) {
      const index = next++
      results[index] = await work(items[index]!)
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker))
  return results
}
