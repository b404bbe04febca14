import type { Clock } from '../../../sdk/ports/world.ts'
import type { Chance } from './chance.ts'

export type ServiceName = 'dynamodb' | 'sqs' | 'scheduler' | 's3'

/** One attempt of a call. The SDK makes up to eight of them, and the product sees only what the last one comes to. */
export interface Attempt {
  process: string
  service: ServiceName
  /** As the SDK calls it: `PutItemCommand`. */
  command: string
  input: unknown
  /** Counts the calls of the process, from 1. */
  call: number
  /** Counts the attempts of the call, from 1. */
  attempt: number
}

export type Outcome =
  /** Carried out, and answered. */
  | 'done'
  /** Refused by a busy service before anything happened. */
  | 'throttled'
  /** Never arrived. */
  | 'lost'
  /** Carried out, but the answer never came. */
  | 'answer lost'
  /** The process dies before it is sent, or after it was carried out. */
  | 'dies before'
  | 'dies after'

export interface Fate {
  outcome: Outcome
  /** How long it is under way, each way. What is lost is given up after the client's timeout. */
  thereMs?: number
  backMs?: number
}

const DONE: Fate = { outcome: 'done' }
const MOST_ATTEMPTS = 8
const REQUEST_TIMEOUT_MS = 5_000
const LONGEST_BACKOFF_MS = 20_000
const FIRST_BACKOFF_MS: Record<'throttled' | 'lost', number> = { throttled: 500, lost: 100 }

/**
 * The way of one process to the services. It may be slow and lose things; and because the process itself may freeze or
 * die, nothing it has called returns before it thaws, and nothing ever again once it is dead.
 */
export class Network {
  readonly process: string
  isAlive = true
  private readonly trueClock: Clock
  private readonly chance: Chance
  private readonly fateOf: (attempt: Attempt) => Fate
  private frozenUntil = Number.NEGATIVE_INFINITY
  private calls = 0

  constructor(process: string, clock: Clock, chance: Chance, fateOf: (attempt: Attempt) => Fate = () => DONE) {
    this.process = process
    this.trueClock = clock
    this.chance = chance
    this.fateOf = fateOf
  }

  /** What makes the attempts of one call recognisable: the SDK gives some calls such a token where they bring none. */
  token(): string {
    return this.chance.uuid()
  }

  kill(): void {
    this.isAlive = false
  }

  /** Nothing moves in this process until then; what it has sent is carried out all the same. */
  freezeUntil(time: number): void {
    this.frozenUntil = Math.max(this.frozenUntil, time)
  }

  /** What the SDK does with a call: again and again, as long as that may help. `throttled` makes the service's own error. */
  async call<T>(
    what: Pick<Attempt, 'service' | 'command' | 'input'>,
    carryOut: () => T | Promise<T>,
    throttled: () => Error,
  ): Promise<T> {
    const call = ++this.calls
    for (let attempt = 1; ; attempt++) {
      if (!this.isAlive) return forever()
      const fate = this.fateOf({ ...what, process: this.process, call, attempt })
      if (fate.outcome === 'dies before') return this.die()
      // Without a delay it is carried out within the call itself: the caller learns of it later all the same.
      if (this.isHeldUp(fate.thereMs)) await this.pass(fate.thereMs)
      if (fate.outcome === 'done') return this.answer(fate, carryOut)
      if (fate.outcome === 'dies after') {
        void settled(carryOut)
        return this.die()
      }
      if (fate.outcome === 'answer lost') await settled(carryOut)
      const isThrottled = fate.outcome === 'throttled'
      await this.pass(fate.backMs ?? (isThrottled ? 0 : REQUEST_TIMEOUT_MS))
      if (attempt === MOST_ATTEMPTS) throw isThrottled ? throttled() : timedOut(what.command)
      await this.pass(this.backoff(attempt, isThrottled ? 'throttled' : 'lost'))
    }
  }

  /**
   * The clock on the wall of this process: it may be wrong, its timers wait while the process is frozen, and die with it.
   */
  clock(skewMs = 0): Clock {
    return {
      now: () => this.trueClock.now() + skewMs,
      at: (time, callback) => {
        let stop = () => {}
        const fire = () => {
          if (this.frozenUntil > this.trueClock.now()) stop = this.trueClock.at(this.frozenUntil, fire)
          else if (this.isAlive) callback()
        }
        stop = this.trueClock.at(time - skewMs, fire)
        return () => stop()
      },
    }
  }

  private die(): Promise<never> {
    this.kill()
    return forever()
  }

  private async answer<T>(fate: Fate, carryOut: () => T | Promise<T>): Promise<T> {
    try {
      return await carryOut()
    } finally {
      if (this.isHeldUp(fate.backMs)) await this.pass(fate.backMs)
    }
  }

  private isHeldUp(ms = 0): boolean {
    return ms > 0 || !this.isAlive || this.frozenUntil > this.trueClock.now()
  }

  /** Waits in virtual time, and on for as long as the process is frozen. */
  private async pass(ms = 0): Promise<void> {
    if (ms > 0) await this.until(this.trueClock.now() + ms)
    while (this.frozenUntil > this.trueClock.now()) await this.until(this.frozenUntil)
    if (!this.isAlive) await forever()
  }

  private until(time: number): Promise<void> {
    return new Promise((resolve) => this.trueClock.at(time, resolve))
  }

  private backoff(attempt: number, why: 'throttled' | 'lost'): number {
    return this.chance.within([0, Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS[why] * 2 ** (attempt - 1))])
  }
}

/** Whatever comes of it, nobody hears. */
async function settled(carryOut: () => unknown): Promise<void> {
  try {
    await carryOut()
  } catch {
    // The answer that got lost was an error.
  }
}

function timedOut(command: string): Error {
  return Object.assign(
    new Error(`the answer to ${command} did not come within ${REQUEST_TIMEOUT_MS} ms, in ${MOST_ATTEMPTS} attempts`),
    {
      name: 'TimeoutError',
    },
  )
}

/** A new one each time: what waits for a promise is kept as long as the promise is. */
const forever = () => new Promise<never>(() => {})
