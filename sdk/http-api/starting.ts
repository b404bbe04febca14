import * as z from 'zod/mini'
import { type Duration, milliseconds, pointInTime } from '../base/duration.ts'
import { InvalidInputError } from '../base/errors.ts'
import { checkName, checkRunId, isReserved } from '../base/names.ts'
import { anything, maybe, noted, request, type Shape, type Shaped, tested, whole } from './kit.ts'

/** Ids of schedules and of runs for failures are not for callers. */
export const chosenId = (description: string): Shape<string> =>
  tested(
    (id: string) => {
      checkRunId(id)
      if (isReserved(id))
        throw new InvalidInputError(
          'begins with what is reserved for schedules (schedule.) and for runs that are started for ' +
            'a failure (failure~); choose another id',
        )
    },
    { type: 'string', description },
  )

const tags = z.array(
  tested((tag: string) => checkName('a tag', tag), { type: 'string' }),
  'must be an array of strings',
) as unknown as Shape<string[]>

export const StartRequest = request(
  'StartRequest',
  {
    input: maybe(anything),
    version: maybe(noted(whole, 'Default: the latest.')),
    id: maybe(chosenId('Chosen by the caller; makes starting idempotent.')),
    delay: maybe(
      tested((delay: Duration) => milliseconds(delay, 'delay'), {
        anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'object' }],
        description: '\'30s\', milliseconds, or { "hours": 24 }.',
      }),
    ),
    startAt: maybe(
      tested((startAt: string | number) => pointInTime(startAt, Number.POSITIVE_INFINITY, 'startAt'), {
        anyOf: [
          { type: 'string', format: 'date-time' },
          { type: 'integer', description: 'Epoch milliseconds.' },
        ],
      }),
    ),
    tags: maybe(tags),
  },
  {
    hint: ". The workflow's own input goes under 'input'",
    known: ['input', 'id', 'startAt', 'delay', 'tags', 'version'],
  },
)
export type StartRequestJson = Shaped<typeof StartRequest>
