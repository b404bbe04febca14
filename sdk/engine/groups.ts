import type { EventOf } from '../base/events.ts'
import { digestOf } from '../base/json.ts'
import { escapeName } from '../base/names.ts'
import type { Branch } from './branch.ts'
import type { Replay } from './replay.ts'

/** Which map it is. */
interface Checked {
  id: string
  known: ReadonlySet<string>
}

const NOTHING: ReadonlySet<string> = new Set()

type Outcome = Pick<EventOf<'decided'>, 'id' | 'won' | 'failed'>

/** Branches that belong together, those of a race or a map, and what the journal says of them as a whole. */
export class Groups {
  private readonly replay: Replay
  private readonly repeats = new Map<string, number>()
  /** Scopes of the items of today, by the path of a map whose list has changed. */
  private readonly keyed = new Map<string, Set<string>>()

  constructor(replay: Replay) {
    this.replay = replay
  }

  /** Results of a map go to its items by position: items that have changed their places are noticed. */
  checkMap(path: string, items: readonly unknown[]): Checked {
    const id = this.numbered('map', path)
    const noted = this.replay.journal.maps.get(id)
    if (!noted) this.noteMap({ id, count: items.length, digest: digestOf(items) })
    else if (noted.isKeyed)
      this.replay.disagree(`map '${id}' knew its items by key`, 'the code knows them by their place')
    else {
      const digest = items.length < noted.count ? undefined : digestOf(items.slice(0, noted.count))
      // Of runs from before, whose items were only looked at as JSON.
      const isAsBefore =
        digest === noted.digest ||
        (digest !== undefined && digestOf(items.slice(0, noted.count), (item) => item) === noted.digest)
      const now =
        items.length < noted.count ? `the code has ${items.length}` : 'the code has others, or in another order'
      if (!isAsBefore) this.replay.disagree(`map '${id}' went over ${noted.count} items`, now)
    }
    return { id, known: NOTHING }
  }

  /** By key, items may change places, come and go. `known`: where they have, the items that the journal knows. */
  checkKeys(path: string, keys: readonly string[]): Checked {
    const id = this.numbered('map', path)
    const noted = this.replay.journal.maps.get(id)
    const digest = digestOf(keys)
    if (!noted) this.noteMap({ id, count: keys.length, digest, isKeyed: true })
    else if (!noted.isKeyed)
      this.replay.disagree(`map '${id}' knew its items by their place`, 'the code knows them by key')
    else if (noted.digest !== digest) {
      const scopes = new Set([...(this.keyed.get(path) ?? []), ...keys.map(escapeName)])
      this.keyed.set(path, scopes)
      const known = this.scopesInJournal(path)
      return { id, known: new Set(keys.filter((key) => known.has(escapeName(key)))) }
    }
    return { id, known: NOTHING }
  }

  /** Of an item that is no longer in its list. */
  isGone(op: string): boolean {
    for (const [path, scopes] of this.keyed) if (op.startsWith(path) && !scopes.has(scopeOf(op, path))) return true
    return false
  }

  private scopesInJournal(path: string): Set<string> {
    const { facts, deliveries } = this.replay.journal
    const ops = [...facts.keys(), ...deliveries.flatMap((event) => ('id' in event ? [event.id] : []))]
    return new Set(ops.filter((op) => op.startsWith(path)).map((op) => scopeOf(op, path)))
  }

  /** Only of a run that is in this place for the first time: an earlier visit may have gone over another list. */
  private noteMap({
    digest,
    ...rest
  }: {
    id: string
    count: number
    digest: string | undefined
    isKeyed?: true
  }): void {
    if (this.replay.replaying || digest === undefined) return
    const event = { type: 'map' as const, ...rest, digest }
    this.replay.journal.maps.set(rest.id, event)
    this.replay.note(event)
  }

  /** A race that comes again is another one. */
  raceId(path: string): string {
    return this.numbered('race', path)
  }

  /**
   * Takes the losers of a race back. The delivery that decides the race is in the journal, so every replay decides it
   * in the same place. The note is for other readers of the journal, and to notice code that would decide otherwise.
   */
  decide(outcome: Outcome, losers: Iterable<Branch>): void {
    const withdrawn = this.withdraw(losers)
    const noted = this.replay.journal.decided.get(outcome.id)?.event
    if (!noted) this.replay.note({ type: 'decided', ...outcome, ...(withdrawn.length > 0 && { withdrawn }) })
    else if (say(noted) !== say(outcome))
      this.replay.disagree(`race '${outcome.id}' ${say(noted)}`, `it ${say(outcome)}`)
  }

  /**
   * The same for items of a map that are no longer needed. Its outcome is in its results, so it is only noted if
   * something was taken back.
   */
  takeBack(id: string, items: Iterable<Branch>): void {
    const withdrawn = this.withdraw(items)
    if (withdrawn.length > 0 && !this.replay.journal.decided.has(id))
      this.replay.note({ type: 'decided', id, withdrawn })
  }

  private withdraw(branches: Iterable<Branch>): string[] {
    const taken = [...branches]
    this.replay.requests.refuseThoseOf(taken.flatMap((branch) => branch.everything()))
    const operations = taken.flatMap((branch) => branch.withdraw())
    this.replay.withdraw(operations)
    return operations.map(({ id }) => id)
  }

  /**
   * A second map of the same name has scopes of its own: by key, an item is known wherever it is in the list, and
   * must not be taken for an item of the other map.
   */
  keyedPath(path: string): string {
    const repeat = this.repeats.get(`keyed ${path}`) ?? 0
    this.repeats.set(`keyed ${path}`, repeat + 1)
    return repeat === 0 ? path : `${path.slice(0, -1)}:${repeat}/`
  }

  private numbered(what: 'map' | 'race', path: string): string {
    const repeat = this.repeats.get(`${what} ${path}`) ?? 0
    this.repeats.set(`${what} ${path}`, repeat + 1)
    return repeat === 0 ? path : `${path}:${repeat}`
  }
}

const say = ({ won, failed }: Outcome): string =>
  failed === undefined ? `was won by ${won?.join(', ')}` : `failed with ${failed}`

/** The scope that an operation is in, below `path`. */
const scopeOf = (op: string, path: string): string => op.slice(path.length, op.indexOf('/', path.length))
