import { type EventMapping, mappingFromData } from '../../../sdk/events/mapping.ts'
import { takeEvent } from '../../../sdk/events/take.ts'
import { InvalidInputError } from '../../../sdk/index.ts'
import { Checks } from '../checks.ts'
import { HttpProblem } from '../problem.ts'
import { bodyOf } from '../request.ts'
import { type Api, json, locationOf, type Route } from '../route.ts'

/** What a mapping that came along is called. */
const INLINE = 'inline'

const EventRequest = bodyOf(() => import('../../../sdk/http-api/about.ts'), 'EventRequest')

/** Not behind a scope: an event may start, signal and cancel whatever it likes. */
export const postEvent: Route = {
  method: 'POST',
  path: '/events',
  operationId: 'postEvent',
  needs: 'everything',
  summary:
    'Do what an event does: by a mapping of the code, by its name, or by one that comes along. The ' +
    'same event again changes nothing. Only the local server has this; on AWS events come from their ' +
    'sources.',
  body: EventRequest,
  responses: {
    201: { description: 'A run was started.', shape: 'EventTaken' },
    200: {
      description: 'A run was signalled or asked to stop, or the event had come before.',
      shape: 'EventTaken',
    },
  },
  problems: [
    'invalid-input',
    'malformed-json',
    'unknown-mapping',
    'unknown-workflow',
    'unknown-run',
    'unknown-signal',
    'conflict',
    'too-large',
    'unsupported-media-type',
  ],
  async handle(c, api) {
    const checks = new Checks()
    const { mapping, event } = await EventRequest.read(c, api.bodyLimit, checks)
    checks.throwIfAny()
    const taken = await takeEvent(api.client, mappingOf(mapping!, api), event)
    return json(taken, taken.kind === 'start' && taken.created ? 201 : 200, locationOf(taken.runId))
  },
}

function mappingOf(given: string | Record<string, unknown>, { mappings }: Api): EventMapping {
  if (typeof given !== 'string') return fromBody(given)
  const found = mappings.find(({ name }) => name === given)
  if (found) return found
  const known = mappings.map(({ name }) => name)
  throw new HttpProblem(
    'unknown-mapping',
    `the entry exports no mapping named '${given}'; known: ${known.join(', ') || 'none'}`,
    { known },
  )
}

function fromBody(given: Record<string, unknown>): EventMapping {
  try {
    return mappingFromData(INLINE, given)
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    throw new InvalidInputError(
      'the mapping is not valid',
      error.problems.map(({ path, message }) => ({ path: path.replace('$', '$.mapping'), message })),
    )
  }
}
