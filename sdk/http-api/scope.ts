import type { PauseScope } from '../flow/limiter/pause-scope.ts'
import { maybe, noted, object, oneOf, only, type Shape, text, whole } from './kit.ts'

export const Count = object({ count: whole, isMore: maybe(only(true)) })

/** What a pause is of, field by field: a request has one of them. */
export const SCOPE_FIELDS = {
  all: noted(only(true, 'must be true'), 'Everything.'),
  workflow: noted(text, 'The runs of this workflow.'),
  run: noted(text, 'This run.'),
}
const { all, workflow, run } = SCOPE_FIELDS

export const Scope = oneOf([object({ all }), object({ workflow }), object({ run })]) as unknown as Shape<PauseScope>
