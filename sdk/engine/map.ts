import { CancelledError, InvalidInputError } from '../base/errors.ts'
import { checkName } from '../base/names.ts'
import type { ItemResult, MapBody, MapOptions, MapOutcome } from '../context.ts'
import { Branch } from './branch.ts'
import type { Replay } from './replay.ts'
import type { RunContext } from './run-context.ts'

/** What ctx.map goes over, and where it does it. */
export interface MapRequest<I, O> {
  name: string
  path: string
  items: readonly I[]
  body: MapBody<I, O>
  options: MapOptions<I>
  /** The branch that the map itself is part of. */
  branch: Branch | undefined
  inside: (key: string, branch: Branch | undefined) => RunContext
}

/** The results of all; the first failure is the map's own, and nothing more begins. */
export async function mapAll<I, O>(replay: Replay, request: MapRequest<I, O>): Promise<O[]> {
  const { items, body, branch, inside } = request
  const { order, workers } = planOf(replay, request)
  const results = new Array<O>(items.length)
  let next = 0
  let hasFailed = false
  const worker = async (isExtra: boolean) => {
    while (next < order.length && !hasFailed) {
      const { key, index } = order[next++]!
      try {
        results[index] = await body(inside(key, branch), items[index]!, index)
      } catch (error) {
        hasFailed = true
        throw error
      }
      if (isExtra) return
    }
  }
  await Promise.all(workers.map(worker))
  return results
}

/**
 * The result of each item, until enough have succeeded, too many have failed, or all have ended. Items that still
 * run then are taken back.
 */
export async function mapSome<I, O>(replay: Replay, request: MapRequest<I, O>): Promise<MapOutcome<O>> {
  const { items, body, options, inside } = request
  const tolerated = toleratedBy(request)
  const { id, order, workers } = planOf(replay, request)
  const results: ItemResult<O>[] = items.map(() => ({ status: 'withdrawn' }))
  const open = new Set<Branch>()
  const counts = { succeeded: 0, failed: 0 }
  let next = 0
  const stopsBefore = replay.stopsRequested
  const reached = (): MapOutcome<O>['reason'] | undefined => {
    if (counts.failed > tolerated) return 'too many failed'
    if (options.need !== undefined && counts.succeeded >= options.need) return 'enough'
    return counts.succeeded + counts.failed === items.length ? 'all' : undefined
  }
  return new Promise((resolve, reject) => {
    const endIfDecided = (): boolean => {
      const reason = reached()
      if (!reason) return false
      next = order.length
      replay.groups.takeBack(id, open)
      resolve({ reason, ...counts, withdrawn: items.length - counts.succeeded - counts.failed, results })
      return true
    }
    const worker = async (isExtra: boolean) => {
      while (next < order.length) {
        const { key, index } = order[next++]!
        const branch = new Branch(request.branch)
        open.add(branch)
        const result = await settledBy(() => body(inside(key, branch), items[index]!, index))
        // Decided without it, by one that ended in the same turn.
        if (branch.isWithdrawn) return
        // The run is to stop: that is no failure of the item, and must not be taken for one.
        if (result.status === 'rejected' && replay.stopsRequested > stopsBefore && isStop(result.reason, replay)) {
          next = order.length
          return reject(result.reason)
        }
        open.delete(branch)
        results[index] = result
        counts[result.status === 'fulfilled' ? 'succeeded' : 'failed']++
        if (endIfDecided() || isExtra) return
      }
    }
    if (!endIfDecided()) for (const isExtra of workers) void worker(isExtra)
  })
}

/** Whether an error comes of a request to stop the run, be it as that of a step that was stopped by it. */
function isStop(error: unknown, { stopRequested }: Replay): boolean {
  for (let e = error, depth = 0; e instanceof Error && depth < 10; e = e.cause, depth++) {
    if (e instanceof CancelledError || e.message === stopRequested?.message) return true
  }
  return false
}

async function settledBy<O>(body: () => Promise<O>): Promise<PromiseSettledResult<O>> {
  try {
    return { status: 'fulfilled', value: await body() }
  } catch (reason) {
    return { status: 'rejected', reason }
  }
}

interface Plan {
  id: string
  order: { key: string; index: number }[]
  /** One entry for each that takes items, one after the other; an extra one takes one item. */
  workers: boolean[]
}

/**
 * In the order of the list. Where the list has changed, the items that the journal knows come first and all at
 * once, beyond `concurrency` if necessary: the journal has their events in the order of the old list.
 */
function planOf<I, O>(replay: Replay, { name, path, items, options }: MapRequest<I, O>): Plan {
  checkName('a map name', name)
  if (!Array.isArray(items))
    throw new InvalidInputError(
      `map '${name}': the second argument must be an array, as in [...items], got ${typeof items}`,
    )
  const { concurrency = items.length, key } = options
  if (items.length > 0 && !(concurrency >= 1))
    throw new InvalidInputError(`map '${name}': concurrency must be at least 1, got ${concurrency}`)
  const keys = key && keysOf(name, items, key)
  const { id, known } = keys ? replay.groups.checkKeys(path, keys) : replay.groups.checkMap(path, items)
  const order = (keys ?? items).map((one, index) => ({ key: keys ? (one as string) : String(index), index }))
  const first = order.filter((one) => known.has(one.key))
  const atOnce = Math.min(Math.max(concurrency, first.length), items.length)
  const workers = Array.from({ length: atOnce }, (_, i) => i >= concurrency)
  return { id, order: first.length === 0 ? order : [...first, ...order.filter((one) => !known.has(one.key))], workers }
}

function keysOf<I>(name: string, items: readonly I[], key: (item: I, index: number) => string): string[] {
  const keys = items.map(key)
  const seen = new Set<string>()
  for (const one of keys) {
    checkName(`a key of map '${name}'`, one)
    if (seen.has(one))
      throw new InvalidInputError(
        `map '${name}': two items have the key '${one}'. Results go to items by their keys, so each needs its own`,
      )
    seen.add(one)
  }
  return keys
}

function toleratedBy<I, O>({ name, items, options: { need, tolerate } }: MapRequest<I, O>): number {
  if (need !== undefined && !(Number.isInteger(need) && need >= 1))
    throw new InvalidInputError(`map '${name}': need must be a whole number from 1, got ${need}`)
  const spare = need === undefined ? items.length : items.length - need
  if (tolerate === undefined) return spare
  const share = typeof tolerate === 'string' ? /^(\d+(?:\.\d+)?)%$/.exec(tolerate)?.[1] : undefined
  const most = share === undefined ? tolerate : Math.floor((items.length * Number(share)) / 100)
  if (typeof most !== 'number' || !(most >= 0) || Number(share) > 100) {
    throw new InvalidInputError(
      `map '${name}': tolerate is a number of failures or a share of the items, as in 3 or '30%', got ` +
        `${JSON.stringify(tolerate)}`,
    )
  }
  return Math.min(most, spare)
}
