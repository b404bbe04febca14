import { InvalidInputError } from '../base/errors.ts'
import { checkName } from '../base/names.ts'
import type { Branch } from './branch.ts'
import type { Replay } from './replay.ts'

export interface Competitor {
  key: string
  branch: Branch
  run: () => Promise<unknown>
}

export interface Winner {
  key: string
  value: unknown
}

/**
 * The first branches to end win, in the order of the journal, and the others are taken back. A branch that fails
 * ends the race with its error. What a loser waits for is never settled: its code stops where it is, and can
 * neither go on nor fail.
 */
export function race(
  replay: Replay,
  path: string,
  competitors: readonly Competitor[],
  need: number,
): Promise<Winner[]> {
  const id = replay.groups.raceId(path)
  const open = new Map(competitors.map(({ key, branch }) => [key, branch]))
  const winners: Winner[] = []
  return new Promise((resolve, reject) => {
    const decide = (how: { failed?: string } = {}) => {
      replay.groups.decide({ id, won: winners.map(({ key }) => key), ...how }, open.values())
      open.clear()
    }
    const win = (key: string, value: unknown) => {
      if (!open.delete(key)) return
      winners.push({ key, value })
      if (winners.length < need) return
      decide()
      resolve(winners)
    }
    const fail = (key: string, error: unknown) => {
      if (!open.has(key)) return
      decide({ failed: key })
      reject(error)
    }
    for (const { key, run } of competitors) {
      run().then(
        (value) => win(key, value),
        (error: unknown) => fail(key, error),
      )
    }
  })
}

export function checkRace(name: string, branches: object, need: number | undefined): void {
  const entries = Object.entries(branches)
  if (entries.length === 0) throw new InvalidInputError(`race '${name}' has no branches: it could never be won`)
  if (need !== undefined && !(Number.isInteger(need) && need >= 1 && need <= entries.length)) {
    throw new InvalidInputError(
      `race '${name}': need must be a whole number from 1 to ${entries.length}, the number of its ` +
        `branches, got ${need}`,
    )
  }
  for (const [key, body] of entries) {
    checkName(`a branch of race '${name}'`, key)
    if (typeof body !== 'function')
      throw new InvalidInputError(
        `race '${name}': branch '${key}' must be a function of a context, as in (c) => c.sleep('1d')`,
      )
  }
}
