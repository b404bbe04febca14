import type { SeededRandom } from '../../sdk/base/random.ts'
import { aTimetable, type Timetable } from './timetable.ts'

/** A workflow as data, so that a seed can make one up and anybody can read it. `at` tells nodes apart that share a name. */
export type Node = { at: number; name: string } & (
  | StepNode
  | { kind: 'sleep'; ms: number }
  | { kind: 'wait'; timeout?: number }
  | { kind: 'callback'; timeout?: number; isChecked?: true }
  | ChildNode
  | { kind: 'seq' | 'all' | 'race'; items: Node[] }
  /** `need`: how many of them are enough. */
  | { kind: 'map'; count: number; atOnce: number; body: Node; need?: number }
  /** A step that fails for good, and what is done about it. */
  | { kind: 'catch'; handler: Node }
  | { kind: 'undo' }
  | { kind: 'patch'; body: Node }
  /** Shows so many characters. */
  | { kind: 'progress'; size: number }
  /** Ends the run as failed, until somebody mends what is outside of it. */
  | { kind: 'broken' }
)

export interface StepNode {
  kind: 'step'
  failures: number
  ms: number
  atMostOnce?: true
  /** A worker does it. */
  outside?: true
  /** Its first attempt takes longer than it may. */
  hangs?: true
  checkpoints?: true
  /** Gives the runner up for so long and comes back. */
  pauses?: number
  /** It is an `until` that comes true in its third round; `pauses` is the time between two. */
  asks?: true
  /** Characters of its result, hard to compress. */
  size?: number
}

export interface ChildNode {
  kind: 'child'
  body: Node
  /** Started, and left alone. */
  detached?: true
  hasOwnId?: true
  abandon?: true
  /** Its own attempts at the whole, by its workflow's retry policy. */
  attempts?: number
}

export interface Program {
  root: Node
  /** How often it continues as new. */
  rounds: number
  /** The same result whatever happens to it: no races, timeouts or at-most-once steps. */
  isDeterministic: boolean
  /** Names of the signals it waits for, in each round. */
  signals: string[]
  /** Its waits are of days and months. */
  isSlow: boolean
  /** What people do to it, and when. */
  acts: { after: number; act: 'cancel' | 'wake' | 'terminate' }[]
  /** From when on nothing is broken any more. */
  mendedAfter: number
  /** How long its runs are kept when they have ended. */
  retention: number
  /** A schedule beside it. */
  timetable?: Timetable
  /** It is started once more under its id, when its retention has passed. */
  comesAgain: boolean
}

/** Every second one of its signals asks for a reply. */
export const isAsked = (name: string): boolean => /[13579]$/.test(name)

/** Some of its signals carry nothing. */
export const isBare = (name: string): boolean => /[048]$/.test(name)

const DAY = 86_400_000
const QUICK = [1, 400, 2_000, 30_000, 600_000, 7_200_000]
const SLOW = [2_000, 3_600_000, DAY, 40 * DAY, 100 * DAY, 364 * DAY]

export function generate(random: SeededRandom): Program {
  return new Author(random).write()
}

class Author {
  private readonly random: SeededRandom
  private readonly isLoose: boolean
  private readonly isLarge: boolean
  private readonly program: Program
  private serial = 0

  constructor(random: SeededRandom) {
    this.random = random
    this.isLoose = this.chance(0.35)
    this.isLarge = this.chance(0.06)
    this.program = {
      root: { at: 0, kind: 'seq', name: 'root', items: [] },
      rounds: this.chance(0.2) ? 1 + this.int(2) : 0,
      isDeterministic: true,
      signals: [],
      isSlow: this.chance(0.1),
      acts: [],
      mendedAfter: 600_000 + this.int(3_600_000),
      retention: 0,
      comesAgain: this.chance(0.08),
    }
  }

  write(): Program {
    const { program } = this
    program.retention = [program.isSlow ? 2 * DAY : DAY / 24, DAY, 30 * DAY][this.int(3)]!
    const items = Array.from({ length: 1 + this.int(4) }, () => this.node(3, false))
    if (this.isLoose && this.chance(0.5)) {
      items.splice(this.int(items.length + 1), 0, { ...this.named(), kind: 'broken' })
      // What is sent to it before it fails must be there when it has been told to go on.
      if (this.chance(0.6)) items.push(this.wait())
      program.isDeterministic = false
    }
    program.root = { at: 0, kind: 'seq', name: 'root', items }
    for (const [act, chance] of [
      ['cancel', 0.15],
      ['cancel', 0.1],
      ['wake', 0.1],
      ['terminate', 0.04],
    ] as const) {
      if (!this.chance(chance)) continue
      program.acts.push({ act, after: this.duration() })
      program.isDeterministic = false
    }
    if (!program.isSlow && program.retention >= DAY && this.chance(0.08))
      program.timetable = aTimetable((below) => this.int(below))
    return program
  }

  private node(depth: number, inChild: boolean): Node {
    const roll = this.int(100)
    if (depth > 0 && roll < 36) return this.group(roll, depth, inChild)
    if (depth > 0 && !inChild && roll < 44) return this.child(depth)
    if (depth > 0 && roll < 48) return { ...this.named(), kind: 'catch', handler: this.node(depth - 1, inChild) }
    if (depth > 0 && roll < 50) return { ...this.named(), kind: 'patch', body: this.node(depth - 1, inChild) }
    if (roll < 61) return { ...this.named(), kind: 'sleep', ms: this.chance(0.1) ? 0 : this.duration() }
    if (roll < 76 && !inChild) return this.wait()
    if (roll < 81 && !inChild) return this.callback()
    if (roll < 84) return { ...this.named(), kind: 'undo' }
    if (roll < 88) return { ...this.named(), kind: 'progress', size: this.size([20, 600, 3_000]) }
    return this.step()
  }

  private group(roll: number, depth: number, inChild: boolean): Node {
    if (roll >= 32) {
      const map: Node = {
        ...this.named(),
        kind: 'map',
        count: 1 + this.int(4),
        atOnce: 1 + this.int(3),
        body: this.bodyOfMap(),
      }
      if (!this.isLoose || map.at % 2 === 0 || map.count === 1) return map
      this.program.isDeterministic = false
      return { ...map, need: map.count - 1 }
    }
    const kind = roll < 13 ? 'seq' : roll < 27 || !this.isLoose ? 'all' : 'race'
    if (kind === 'race') this.program.isDeterministic = false
    return {
      ...this.named(),
      kind,
      items: Array.from({ length: 1 + this.int(3) }, () => this.node(depth - 1, inChild)),
    }
  }

  /** Each of its scopes does the same, so nothing in it may wait for a signal. */
  private bodyOfMap(): Node {
    return this.chance(0.7) ? this.step() : { ...this.named(), kind: 'sleep', ms: this.duration() }
  }

  private child(depth: number): Node {
    const child: Node = { ...this.named(), kind: 'child', body: this.node(depth - 1, true) }
    if (this.chance(0.15)) child.detached = true
    if (this.chance(0.2)) child.hasOwnId = true
    if (this.chance(0.15)) child.abandon = true
    if (this.chance(0.2)) child.attempts = 1 + this.int(3)
    return child
  }

  private wait(): Node {
    const wait: Node = { ...this.named(), kind: 'wait', name: `signal${this.program.signals.length}` }
    this.program.signals.push(wait.name)
    if (this.isLoose && this.chance(0.5)) {
      wait.timeout = this.duration()
      this.program.isDeterministic = false
    }
    return wait
  }

  private callback(): Node {
    const callback: Node = { ...this.named(), kind: 'callback' }
    if (this.chance(0.5)) callback.isChecked = true
    if (this.isLoose && this.chance(0.5)) {
      callback.timeout = this.duration()
      this.program.isDeterministic = false
    }
    return callback
  }

  private step(): Node {
    const step: Node = {
      ...this.named(),
      kind: 'step',
      failures: this.chance(0.25) ? 1 + this.int(2) : 0,
      ms: this.chance(0.5) ? this.int(8_000) : 0,
    }
    if (this.isLoose && this.chance(0.2)) {
      step.atMostOnce = true
      this.program.isDeterministic = false
    } else if (this.chance(0.25)) step.outside = true
    else if (this.chance(0.06)) step.hangs = true
    else if (this.chance(0.1)) step.checkpoints = true
    else if (this.chance(0.11)) {
      step.pauses = this.duration()
      if (step.pauses % 2 === 1) step.asks = true
    }
    if (!step.outside && this.chance(0.15)) step.size = this.size([600, 6_000])
    return step
  }

  /** Of this many characters; in a few programs, too large for an item. */
  private size(usual: readonly number[]): number {
    return this.isLarge && this.chance(0.4) ? 500_000 : usual[this.int(usual.length)]!
  }

  private named(): { at: number; name: string } {
    const at = ++this.serial
    return { at, name: this.chance(0.1) ? 'again' : `n${at}` }
  }

  private duration(): number {
    const choices = this.program.isSlow ? SLOW : QUICK
    return choices[this.int(choices.length)]! + this.int(50)
  }

  private int(below: number): number {
    return Math.floor(this.random.next() * below)
  }

  private chance(p: number): boolean {
    return this.random.next() < p
  }
}
