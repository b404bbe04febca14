import type { Branch } from './branch.ts'
import type { EventOf } from './events.ts'
import { digestOf } from './json.ts'
import type { Replay } from './replay.ts'

type Outcome = Pick<EventOf<'decided'>, 'id' | 'won' | 'failed'>

/** Branches that belong together, those of a race or a map, and what the journal says of them as a whole. */
export class Groups {
  private readonly replay: Replay
  private readonly repeats = new Map<string, number>()

  constructor(replay: Replay) {
    this.replay = replay
  }

  /** Results of a map go to its items by position: items that have changed their places are noticed. */
  checkMap(path: string, items: readonly unknown[]): void {
    const { journal } = this.replay
    const id = this.numbered('map', path)
    const noted = journal.maps.get(id)
    if (noted) {
      const digest = items.length < noted.count ? undefined : digestOf(items.slice(0, noted.count))
      // Of runs from before, whose items were only looked at as JSON.
      if (digest === noted.digest || (digest !== undefined && digestOf(items.slice(0, noted.count), (item) => item) === noted.digest)) return
      const now = items.length < noted.count ? `the code has ${items.length}` : 'the code has others, or in another order'
      return this.replay.disagree(`map '${id}' went over ${noted.count} items`, now)
    }
    const digest = this.replay.replaying ? undefined : digestOf(items)
    if (digest === undefined) return
    const event = { type: 'map' as const, id, count: items.length, digest }
    journal.maps.set(id, event)
    this.replay.note(event)
  }

  /** A race that comes again is another one. */
  raceId(path: string): string {
    return this.numbered('race', path)
  }

  /**
   * Takes the losers of a race back. Whatever decided it is in the journal, so every replay decides it in the same place; the note is for
   * others who read the journal, and to notice code that would decide otherwise.
   */
  decide(outcome: Outcome, losers: Iterable<Branch>): void {
    const withdrawn = [...losers].flatMap((branch) => branch.withdraw())
    this.replay.withdraw(withdrawn)
    const noted = this.replay.journal.decided.get(outcome.id)?.event
    if (!noted) this.replay.note({ type: 'decided', ...outcome, ...(withdrawn.length > 0 && { withdrawn: withdrawn.map(({ id }) => id) }) })
    else if (say(noted) !== say(outcome)) this.replay.disagree(`race '${outcome.id}' ${say(noted)}`, `it ${say(outcome)}`)
  }

  private numbered(what: 'map' | 'race', path: string): string {
    const repeat = this.repeats.get(`${what} ${path}`) ?? 0
    this.repeats.set(`${what} ${path}`, repeat + 1)
    return repeat === 0 ? path : `${path}:${repeat}`
  }
}

const say = ({ won, failed }: Outcome): string => (failed === undefined ? `was won by ${won?.join(', ')}` : `failed with ${failed}`)
