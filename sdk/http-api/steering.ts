import * as z from 'zod/mini'
import { checkName } from '../base/names.ts'
import {
  anything,
  fitting,
  flag,
  maybe,
  named,
  noted,
  object,
  request,
  type Shape,
  type Shaped,
  tested,
  text,
} from './kit.ts'
import { chosenId } from './starting.ts'
import { LONGEST_REASON } from './terms.ts'

const TOO_LONG = `must be a string of at most ${LONGEST_REASON} characters`
export const reason = z.string(TOO_LONG).check(z.maxLength(LONGEST_REASON, TOO_LONG)) as unknown as Shape<string>

export const stepName = (description: string): Shape<string> =>
  fitting<string>((from) => typeof from === 'string' && from !== '', 'must be the name of a step', {
    type: 'string',
    description,
  })

export const inheritUndone = noted(
  flag,
  'Take over results that the run has undone since. Otherwise such a rerun is refused.',
)

export const Reason = request('Reason', { reason: maybe(reason) })

export const RerunRequest = request(
  'RerunRequest',
  {
    from: maybe(stepName('The first step that is done again. Without it, the run begins at its beginning.')),
    inheritUndone: maybe(inheritUndone),
    id: maybe(chosenId('Of the new run.')),
  },
  { known: ['from', 'id', 'inheritUndone'] },
)
export type RerunRequestJson = Shaped<typeof RerunRequest>

export const EraseQuery = z.strictObject(
  {
    tag: tested((tag: string) => checkName("'tag', which says which runs to erase,", tag), {
      type: 'string',
      description: 'Which runs. It has to be given.',
    }),
    workflow: maybe(noted(text, 'Only runs of this workflow.')),
    terminate: maybe(
      fitting<'true' | 'false'>((value) => value === 'true' || value === 'false', "must be 'true' or 'false'", {
        type: 'boolean',
        description:
          '`true` ends runs that have not ended and erases them too, a quarter of an hour later. Otherwise they stay.',
      }),
    ),
  },
  {
    error: ({ code }) =>
      code === 'unrecognized_keys' ? 'is not known here; known: tag, workflow, terminate' : undefined,
  },
)

/** What a run replied to a request. */
export const Reply = named('Reply', object({ result: maybe(anything) }))
export type ReplyJson = Shaped<typeof Reply>

/** `accepted` is false for a repeat. */
export const Accepted = named('Accepted', object({ accepted: flag }))
export type AcceptedJson = Shaped<typeof Accepted>

export const Asked = named('Asked', object({ accepted: flag, idempotencyKey: text }))
