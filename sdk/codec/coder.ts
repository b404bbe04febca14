import { FatalError } from '../base/errors.ts'
import type { ErrorRecord, Frame, JournalEvent } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import { CODED, isCoded } from '../base/values.ts'
import type { Message } from '../ports/run.ts'
import { inParallel } from '../rules/procedure.ts'
import { type Codec, type PayloadOf, Unreadable } from './codec.ts'
import { EVENT_PAYLOADS, MESSAGE_PAYLOADS, type PayloadField } from './payload-fields.ts'

const CODED_MESSAGE = '(encoded)'

/** One direction of a codec, for every structure that contains payloads. */
export abstract class Coder {
  abstract value(value: Json): Promise<Json>
  abstract text(text: string): Promise<string>
  abstract error(error: ErrorRecord): Promise<ErrorRecord>

  event<E extends JournalEvent>(event: E): Promise<E> {
    return this.fields(event, EVENT_PAYLOADS[event.type])
  }

  message(message: Message): Promise<Message> {
    return this.fields(message, MESSAGE_PAYLOADS[message.kind])
  }

  async frame(frame: Frame): Promise<Frame> {
    return { ...frame, events: await inParallel(frame.events, (event) => this.event(event)) }
  }

  /** An object without such fields is returned as it is. */
  async fields<T extends object>(
    holder: T,
    fields: readonly (PayloadField | 'parsed' | 'progress' | 'checkpoint' | 'details')[],
  ): Promise<T> {
    const values = holder as Record<string, unknown>
    const there = fields.filter((field) => values[field] !== undefined)
    if (there.length === 0) return holder
    const changed: Record<string, unknown> = {}
    for (const field of there) changed[field] = await this.field(field, values[field])
    return { ...holder, ...changed }
  }

  private field(name: string, value: unknown): Promise<unknown> {
    if (name === 'error') return this.error(value as ErrorRecord)
    return name === 'reason' ? this.text(value as string) : this.value(value as Json)
  }
}

export class Encoder extends Coder {
  private readonly codec: Codec
  private readonly of: () => Promise<PayloadOf>

  /** `of` is called only if there is something to encode. */
  constructor(codec: Codec, of: () => Promise<PayloadOf>) {
    super()
    this.codec = codec
    this.of = of
  }

  async value(value: Json): Promise<Json> {
    if ((value as unknown) instanceof Unreadable)
      throw new FatalError(
        `what cannot be read cannot be taken over either: ${(value as unknown as Unreadable)['~unreadable']}`,
      )
    return { [CODED]: await this.coded(value) }
  }

  async text(text: string): Promise<string> {
    return JSON.stringify(await this.value(text))
  }

  /**
   * Names of errors and steps stay readable, because they classify the failure. Messages and fields may quote
   * data.
   */
  async error({ name, step, attempts, runId, status, ...rest }: ErrorRecord): Promise<ErrorRecord> {
    const readable = {
      ...(step !== undefined && { step }),
      ...(attempts !== undefined && { attempts }),
      ...(runId !== undefined && { runId }),
      ...(status !== undefined && { status }),
    }
    return { name, message: CODED_MESSAGE, ...readable, fields: { [CODED]: await this.coded(rest as unknown as Json) } }
  }

  private async coded(value: Json): Promise<string> {
    const coded = await this.codec.encode(JSON.stringify(value), await this.of())
    if (typeof coded !== 'string')
      throw new FatalError(`the codec's encode gave ${typeof coded} and must give a string; mend the codec and retry`)
    return coded
  }
}

/** Payloads stored before the codec was set are returned unchanged. */
export class Decoder extends Coder {
  private readonly codec: Codec
  private readonly isLenient: boolean

  /** `lenient`: readers get a placeholder for what cannot be decoded. A run needs `strict`. */
  constructor(codec: Codec, strictness: 'strict' | 'lenient') {
    super()
    this.codec = codec
    this.isLenient = strictness === 'lenient'
  }

  async value(value: Json): Promise<Json> {
    return isCoded(value) ? this.decoded(value[CODED], (unreadable) => unreadable as unknown as Json) : value
  }

  async text(text: string): Promise<string> {
    if (!text.startsWith(`{"${CODED}":`)) return text
    return this.decoded(codedIn(text), (unreadable) => `(unreadable: ${unreadable['~unreadable']})`)
  }

  async error(error: ErrorRecord): Promise<ErrorRecord> {
    const { fields, message: _, ...readable } = error
    if (!isCoded(fields)) return error
    const rest = await this.decoded(fields[CODED], (unreadable) => ({
      message: `(unreadable: ${unreadable['~unreadable']})`,
    }))
    return { ...readable, ...(rest as unknown as Pick<ErrorRecord, 'message'>) }
  }

  private async decoded<T>(coded: string, placeholder: (unreadable: Unreadable) => T): Promise<T> {
    try {
      return JSON.parse(await this.codec.decode(coded)) as T
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      if (this.isLenient) return placeholder(new Unreadable(reason))
      throw new Error(`a payload could not be decoded: ${reason}`, { cause: error })
    }
  }
}

/** The encoded part of a text that `Encoder.text` made. */
const codedIn = (text: string): string => (JSON.parse(text) as { [CODED]: string })[CODED]
