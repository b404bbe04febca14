import type { ErrorRecord } from '../base/events.ts'
import {
  anything,
  fitting,
  listOf,
  maybe,
  named,
  object,
  openObject,
  type Shape,
  type Shaped,
  text,
  whole,
} from './kit.ts'

/** An error as a run recorded it. It may carry fields of its own. */
export const ErrorShape: Shape<ErrorRecord> = named(
  'Error',
  openObject({
    name: text,
    message: text,
    code: maybe(anything),
    step: maybe(text),
    attempts: maybe(whole),
    stack: maybe(text),
    get cause() {
      return maybe(ErrorShape)
    },
    get errors() {
      return maybe(listOf(ErrorShape))
    },
  }) as unknown as Shape<ErrorRecord>,
)

export const ProblemItem = object({ path: text, message: text })

/** RFC 9457. `type` is stable; the words may change. */
export const ProblemShape = named(
  'Problem',
  object({
    type: fitting<string>((value) => typeof value === 'string', 'must be a URI', { type: 'string', format: 'uri' }),
    title: text,
    status: whole,
    detail: text,
    problems: maybe(listOf(ProblemItem)),
    known: maybe(listOf(text)),
    error: maybe(ErrorShape),
  }),
)
export type ProblemJson = Shaped<typeof ProblemShape>
