import type { Clock } from '../../../sdk/ports/world.ts'
import type { Chance, Range } from './chance.ts'

/** A rule of the bucket: objects under a prefix go away by their age. */
export interface LifecycleRule {
  prefix: string
  afterMs: number
  /** How much later it may be; AWS takes days. */
  lagMs: Range
}

interface StoredObject {
  body: Uint8Array
  putAt: number
  goesAt: number
}

/** A bucket. Reads see every write that was answered. */
export class ObjectStore {
  private readonly clock: Clock
  private readonly chance: Chance
  private readonly rules: readonly LifecycleRule[]
  private readonly objects = new Map<string, StoredObject>()

  constructor(clock: Clock, chance: Chance, rules: readonly LifecycleRule[] = []) {
    this.clock = clock
    this.chance = chance
    this.rules = rules
  }

  put(key: string, body: Uint8Array): void {
    const putAt = this.clock.now()
    const ends = this.rules
      .filter(({ prefix }) => key.startsWith(prefix))
      .map(({ afterMs, lagMs }) => putAt + afterMs + this.chance.within(lagMs))
    this.objects.set(key, { body: Uint8Array.from(body), putAt, goesAt: Math.min(Number.POSITIVE_INFINITY, ...ends) })
  }

  get(key: string): Uint8Array {
    const object = this.find(key)
    if (object) return Uint8Array.from(object.body)
    throw Object.assign(new Error(`The specified key does not exist: '${key}'`), {
      name: 'NoSuchKey',
      $metadata: { httpStatusCode: 404 },
    })
  }

  delete(key: string): void {
    this.objects.delete(key)
  }

  /** By key, with their age. */
  list(prefix = ''): { key: string; size: number; ageMs: number; goesAt: number }[] {
    const now = this.clock.now()
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && this.find(key)).sort()
    return keys.map((key) => {
      const { body, putAt, goesAt } = this.objects.get(key)!
      return { key, size: body.length, ageMs: now - putAt, goesAt }
    })
  }

  private find(key: string): StoredObject | undefined {
    const object = this.objects.get(key)
    if (object && object.goesAt <= this.clock.now()) this.objects.delete(key)
    return this.objects.get(key)
  }
}
