import { Hash } from './hash.ts'

/** Which generation of which run a trace is of. */
export interface TracedRun {
  runId: string
  workflow: string
  version: number
  generation: number
  /** When the run was created: the id of an erased run may be reused. */
  createdAt: number
  /** When the generation began. */
  begunAt: number
  /** The `traceparent` of the creator of this generation: a caller, the parent run, or the generation before. */
  trace?: string | undefined
}

/** The identity of a span, as links and children need it. */
export interface SpanPlace {
  traceId: string
  spanId: string
}

/**
 * The ids of one generation's spans. They are computed, not random: every process gets the same ones, before
 * or after the fact. `round` counts retries by an operator, since attempts are counted anew then.
 */
export class SpanIds {
  readonly traceId: string
  /** Of the root. */
  readonly root: string
  private readonly of: Hash

  constructor({ runId, createdAt, generation, begunAt }: TracedRun) {
    this.of = new Hash().with(`${runId}\n${createdAt}\n${generation}\n`)
    // X-Ray needs the start time of a trace, and reads it from the trace id.
    const second = hex32(Math.floor(begunAt / 1000) >>> 0)
    this.traceId = second + hexOf(this.of.with('trace')) + hexOf(this.of.with('more')).slice(8)
    this.root = this.spanId('root')
  }

  /** `paused`: how often a pause had interrupted the attempt. */
  attempt(operation: string, attempt: number, round: number, paused: number): string {
    return this.spanId(`step\n${operation}\n${attempt}\n${round}\n${paused}`)
  }

  /** One of the two ends of a wait. */
  end(which: 'begins' | 'ends', operation: string, round: number): string {
    return this.spanId(`${which}\n${operation}\n${round}`)
  }

  /** Any other span, of which each round has one. */
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

/** 16 digits in one piece: joining smaller pieces takes twice as long. */
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

/**
 * The place that a W3C `traceparent` names; undefined for an invalid header. Later versions may have further
 * fields, version 00 may not.
 */
export function readTraceparent(header: string | undefined): SpanPlace | undefined {
  if (header === undefined || header.length > LONGEST_TRACEPARENT) return undefined
  const found = TRACEPARENT.exec(header)
  if (!found || (header.startsWith('00') && header.length !== 55)) return undefined
  return { traceId: found[1]!, spanId: found[2]! }
}

/** Always sampled: no span is left out. */
export const traceparentOf = ({ traceId, spanId }: SpanPlace): string => `00-${traceId}-${spanId}-01`
