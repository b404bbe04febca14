import type { EventOf, Frame } from '../base/events.ts'
import type { Commit, CommitResult } from '../ports/commit.ts'
import type { NewRun } from '../ports/run.ts'
import type { Claimed } from '../ports/run-store.ts'
import type { SpanPlace } from '../views/span-ids.ts'
import { type Span, SpanWriter } from '../views/spans.ts'

/**
 * One claim of a run, from the claim to its release. A runner that releases the run cleanly sends the spans
 * of its visit. If it crashed, the next visit sends them, so that each frame is reported once.
 */
export class Visit {
  readonly epoch: number
  private readonly writer: SpanWriter
  /** The spans to send when the visit is over. */
  readonly spans: Span[] = []

  constructor({ run, frames, begunAt = run.startedAt ?? run.createdAt, lastGoodEpoch }: Claimed) {
    const { id: runId, workflow, version, generation, createdAt, epoch, trace } = run
    this.epoch = epoch
    this.writer = new SpanWriter({ runId, workflow, version, generation, createdAt, begunAt, trace })
    for (const frame of frames) {
      if (frame.epoch > lastGoodEpoch) this.writer.write(frame, this.spans)
      else this.writer.note(frame)
    }
  }

  /** Returns whether the visit is over: released cleanly, or lost to another runner. */
  noteCommit({ frame, next }: Commit, result: CommitResult): 'released' | 'lost' | undefined {
    if (!result.ok) return next.kind === 'release' ? 'lost' : undefined
    if (frame) this.writer.write(frame, this.spans)
    if (next.kind === 'keep' || (next.kind === 'suspend' && !result.suspended)) return undefined
    // This visit did not end cleanly, so the next visit sends its spans.
    const isUndone = ('undone' in next && next.undone) || ('fruitless' in next && next.fruitless)
    return isUndone ? 'lost' : 'released'
  }

  get root(): SpanPlace {
    return this.place(this.writer.ids.root)
  }

  attempt(step: string, attempt: number): SpanPlace {
    return this.writer.attemptAhead(step, attempt)
  }

  /** Set if this commit's frame, or one before it, says that a child was started. */
  startOf(child: NewRun, frame: Frame | undefined): SpanPlace | undefined {
    const started = frame?.events.find((event) => event.type === 'child.started' && event.run === child.id) as
      | EventOf<'child.started'>
      | undefined
    if (started) return this.place(this.writer.beginAhead(started.id))
    return child.parent && this.place(this.writer.beginOf(child.parent.op))
  }

  /** The place of the generation's end. */
  get end(): SpanPlace {
    return this.place(this.writer.endAhead())
  }

  private place(spanId: string): SpanPlace {
    return { traceId: this.writer.ids.traceId, spanId }
  }
}
