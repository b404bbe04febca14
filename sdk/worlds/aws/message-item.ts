import type { Key } from './keys.ts'
import type { Packed } from './payloads.ts'

/**
 * A message as the table holds it. Once consumed it loses its body and stays, so that a repeat is recognised, be it by
 * the sender or by an SDK that never got its answer.
 */
export interface MessageItem extends Key {
  life: string
  /** Token of the call that delivered it. */
  delivery: string
  /** The run's stimulus counter when it was sent: one message sent after another has a higher one, whatever the clocks say. */
  after: number
  /** When it was sent: parts those that were under way together. */
  at: number
  body?: Packed | { s3: string }
  ttl?: number
}
