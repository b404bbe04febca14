import { Hash } from './hash.ts'

/** Which generation of which run a trace is of. */
export interface TracedRun {
  runId: string
  workflow: string
  version: number
  generation: number
  /** When the run was made: an erased run's id may be used again. */
  createdAt: number
  /** When the generation began. */
  begunAt: number
  /** The `traceparent` of whoever made this generation: a caller, the parent run, or the generation before. */
  trace?: string | undefined
}

/** Where a span is: what links and children need to know of it. */
export interface SpanPlace {
  traceId: string
  spanId: string
}

/**
 * The ids of one generation's spans. Nothing is drawn by lot: whoever works them out, before or after, gets the same ones. `round` counts how often an
 * operator has let the run go on, since attempts are counted anew then.
 */
export class SpanIds {
  readonly traceId: string
  /** Of the root. */
  readonly root: string
  private readonly of: Hash

  constructor({ runId, createdAt, generation, begunAt }: TracedRun) {
    this.of = new Hash().with(`${runId}\n${createdAt}\n${generation}\n`)
    // X-Ray wants to know when a trace began, and finds it in its id.
    const second = hex32(Math.floor(begunAt / 1000) >>> 0)
    this.traceId = second + hexOf(this.of.with('trace')) + hexOf(this.of.with('more')).slice(8)
    this.root = this.spanId('root')
  }

  /** `paused`: how often a pause had ended the attempt before, to be taken up again. */
  attempt(operation: string, attempt: number, round: number, paused: number): string {
    return this.spanId(`step\n${operation}\n${attempt}\n${round}\n${paused}`)
  }

  /** One of the two ends of a wait. */
  end(which: 'begins' | 'ends', operation: string, round: number): string {
    return this.spanId(`${which}\n${operation}\n${round}`)
  }

  /** Anything else, of which there is one in each round. */
  other(what: string, round: number): string {
    return this.spanId(`other\n${what}\n${round}`)
  }

  private spanId(what: string): string {
    return hexOf(this.of.with(what))
  }
}

/** The place of the next generation's root, known as soon as this one has ended. */
export function placeOfNext(run: TracedRun, begunAt: number): SpanPlace {
  const { traceId, root } = new SpanIds({ ...run, generation: run.generation + 1, begunAt })
  return { traceId, spanId: root }
}

const PAIRS: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** 32 bits as 8 digits, from a table: that is five times as fast as asking the number. */
const hex32 = (value: number): string => PAIRS[value >>> 24]! + PAIRS[(value >>> 16) & 255]! + PAIRS[(value >>> 8) & 255]! + PAIRS[value & 255]!

/** 16 digits. */
function hexOf(hash: Hash): string {
  const [high, low] = hash.halves
  return hex32(high) + hex32(low)
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/
const LONGEST_TRACEPARENT = 128

/** The place that a W3C `traceparent` names; undefined for whatever is none. Versions to come may have more behind it, version 00 has not. */
export function readTraceparent(header: string | undefined): SpanPlace | undefined {
  if (header === undefined || header.length > LONGEST_TRACEPARENT) return undefined
  const found = TRACEPARENT.exec(header)
  if (!found || (header.startsWith('00') && header.length !== 55)) return undefined
  return { traceId: found[1]!, spanId: found[2]! }
}

/** Sampled, always: nothing here leaves spans out. */
export const traceparentOf = ({ traceId, spanId }: SpanPlace): string => `00-${traceId}-${spanId}-01`
