import * as z from 'zod/mini'
import {
  anObject,
  anything,
  fitting,
  listOf,
  maybe,
  named,
  noted,
  object,
  query,
  request,
  type Shape,
  type Shaped,
  text,
  time,
} from './kit.ts'

const CallbackShape = object({
  name: text,
  token: text,
  url: text,
  until: maybe(time),
  question: maybe(noted(text, 'What people are asked.')),
  schema: maybe(noted(anObject, 'A JSON Schema of the answer, where it has one that can be described.')),
})
export type OpenCallbackJson = Shaped<typeof CallbackShape>
export const Callbacks = named('Callbacks', object({ callbacks: listOf(CallbackShape) }))
export type CallbacksJson = Shaped<typeof Callbacks>

export const CallbacksQuery = query({ run: maybe(noted(text, 'The id of the run. Required.')) })

const LONGEST_NAME = 200
const isName = (name: unknown): boolean =>
  typeof name === 'string' && name.length <= LONGEST_NAME && !/\p{Cc}/u.test(name)

const Failure = z.looseObject(
  {
    message: text,
    name: maybe(
      fitting<string>(isName, `must be a string of at most ${LONGEST_NAME} characters, without control characters`, {
        type: 'string',
      }),
    ),
    code: maybe(
      fitting<string | number>(
        (code) => typeof code === 'string' || typeof code === 'number',
        'must be a string or a number',
        {},
      ),
    ),
  },
  'must be an object with a message',
) as unknown as Shape<{ message: string; name?: string; code?: string | number }>

export const CallbackRequest = request('CallbackRequest', { result: maybe(anything), error: maybe(Failure) })
export type CallbackRequestJson = Shaped<typeof CallbackRequest>
