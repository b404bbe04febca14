import { milliseconds } from '../base/duration.ts'
import { InvalidInputError } from '../base/errors.ts'
import { checkName } from '../base/names.ts'
import { RAW_REQUEST } from '../client/raw-request.ts'
import type { CallbackOptions, RawCallbackOptions } from '../context.ts'
import type { CallbackRequest } from './operation.ts'

/** Longer ones are no question for a page, and would be in every mail that quotes it. */
const LONGEST_QUESTION = 1_000

/** What ctx.callback asks for; what makes no sense is refused before anything is written. */
export function callbackRequest(
  name: string,
  options: CallbackOptions<unknown> | RawCallbackOptions,
  address: string | undefined,
): CallbackRequest {
  checkName('a callback name', name)
  const { timeout, heartbeatTimeout, question } = options
  const { schema, raw } = options as Partial<CallbackOptions<unknown> & RawCallbackOptions>
  if (raw && schema)
    throw new InvalidInputError(
      `callback '${name}': a raw one takes requests as they come; check the body in a step instead of with a schema`,
    )
  if (question !== undefined && (typeof question !== 'string' || question.length > LONGEST_QUESTION)) {
    throw new InvalidInputError(`callback '${name}': a question is a text of at most ${LONGEST_QUESTION} characters`)
  }
  return {
    kind: 'callback',
    ms: timeout === undefined ? undefined : milliseconds(timeout, `the timeout of callback '${name}'`),
    beatMs:
      heartbeatTimeout === undefined
        ? undefined
        : milliseconds(heartbeatTimeout, `the heartbeat timeout of callback '${name}'`),
    schema: raw ? RAW_REQUEST : schema,
    question,
    ...(raw && { raw: true as const }),
    address,
  }
}
