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

const DIGITS = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0))
const digit = (value: number, shift: number): number => DIGITS[(value >>> shift) & 15]!

/** 32 bits as 8 digits. */
const hex32 = (value: number): string => value.toString(16).padStart(8, '0')

/** 16 digits, made in one piece: put together from smaller ones they take twice as long. */
function hexOf(hash: Hash): string {
  const [h, l] = hash.halves
  return String.fromCharCode(
    digit(h, 28),
    digit(h, 24),
    digit(h, 20),
    digit(h, 16),
    digit(h, 12),
    digit(h, 8),
    digit(h, 4),
    digit(h, 0),
    digit(l, 28),
    digit(l, 24),
    digit(l, 20),
    digit(l, 16),
    digit(l, 12),
    digit(l, 8),
    digit(l, 4),
    digit(l, 0),
  )
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
