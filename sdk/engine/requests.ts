import { recordError } from '../base/error-records.ts'
import { ConflictError, MisplacedCallError } from '../base/errors.ts'
import type { EventOf } from '../base/events.ts'
import { validateNow } from '../base/schema.ts'
import { decode, encode } from '../base/values.ts'
import type { Asked } from '../context.ts'
import type { Outgoing } from '../ports/commit.ts'
import { type AnyRequest, isRequest } from '../workflow.ts'
import type { Operation } from './operation.ts'
import type { Replay } from './replay.ts'

type Replied = EventOf<'request.replied' | 'request.refused'>

/** The requests that the code has taken, until it has said something to them. */
export class Requests {
  private readonly replay: Replay
  /** Those it has said nothing to, by the message that asked: their names, and the waits that took them. */
  private readonly open = new Map<string, { name: string; op: string }>()

  constructor(replay: Replay) {
    this.replay = replay
  }

  isOne({ request }: Operation): boolean {
    return request.kind === 'wait' && isRequest(request.signal)
  }

  /** What `ctx.waitFor` gives for a request. */
  take({ id, request }: Operation, { from, payload }: EventOf<'wait.completed'>): Asked<unknown, unknown> {
    const { name, replySchema } = (request as { kind: 'wait'; signal: AnyRequest }).signal
    this.open.set(from, { name, op: id })
    return {
      payload: decode(payload),
      reply: (value?: unknown) => {
        this.assertOpen(from, name, 'reply')
        // What was said once was good then, whatever the schema says today.
        if (this.replay.journal.replied.has(from)) return void this.open.delete(from)
        const what = `the reply to request '${name}'`
        const result = encode(validateNow(replySchema, value, what), what)
        this.close(from, { type: 'request.replied', id, to: from, ...(result !== undefined && { result }) })
      },
      refuse: (reason: unknown) => {
        this.assertOpen(from, name, 'refuse')
        this.close(from, { type: 'request.refused', id, to: from, error: recordError(reason) })
      },
    }
  }

  /** Nothing will be said any more to those that are open now: the next generation does not know them. */
  refuseOpen(): Outgoing[] {
    const { id } = this.replay.run
    return [...this.open].map(([to, { name }]) => {
      const error = new ConflictError(`run '${id}' took request '${name}' and began anew without a reply; ask again`)
      return { kind: 'reply', to, reply: { error: recordError(error) } }
    })
  }

  /** Nor to those that were taken by code that was taken back: by the loser of a race, say. */
  refuseThoseOf(operations: readonly Operation[]): void {
    if (this.open.size === 0) return
    const taken = new Set(operations.map(({ id }) => id))
    for (const [to, { name, op }] of this.open) {
      if (!taken.has(op)) continue
      const error = new ConflictError(
        `the part of run '${this.replay.run.id}' that took request '${name}' lost its race before it ` +
          'replied; ask again',
      )
      this.close(to, { type: 'request.refused', id: op, to, error: recordError(error) })
    }
  }

  private assertOpen(messageId: string, name: string, what: 'reply' | 'refuse'): void {
    this.replay.assertCallable(`${what}() of request '${name}'`)
    if (!this.open.has(messageId)) {
      throw new MisplacedCallError(
        `request '${name}' has its reply already, and the caller has seen it. Call reply() or refuse() ` +
          'once for each request',
      )
    }
  }

  /**
   * In replay it has been said before. After a retry it may have been said on the forgotten way: the first reply
   * counts.
   */
  private close(messageId: string, event: Replied): void {
    this.open.delete(messageId)
    if (!this.replay.journal.replied.has(messageId)) this.replay.note(event)
  }
}

export function outgoingReply(event: Replied): Extract<Outgoing, { kind: 'reply' }> {
  const { type: _, id: __, to, ...reply } = event
  return { kind: 'reply', to, reply }
}
