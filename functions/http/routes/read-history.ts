import { eventToJson, eventWithoutPayloads } from '../../../sdk/http-api/encode.ts'
import { PLACE } from '../../../sdk/http-api/terms.ts'
import { ConflictError, RunNotFoundError } from '../../../sdk/index.ts'
import { Checks } from '../checks.ts'
import { fitting } from '../pages.ts'
import { HttpProblem } from '../problem.ts'
import { queryOf } from '../request.ts'
import { jsonWithPayloads, type Route } from '../route.ts'

const HistoryQuery = queryOf(() => import('../../../sdk/http-api/run-queries.ts'), 'HistoryQuery')

const getHistory: Route = {
  method: 'GET',
  path: '/runs/{id}/history',
  operationId: 'getHistory',
  needs: 'read',
  summary: 'What happened in a run, in order.',
  query: HistoryQuery,
  responses: {
    200: { description: 'Its events; a cursor when there are more than fit into one answer.', shape: 'History' },
  },
  problems: ['invalid-input', 'unknown-run', 'conflict'],
  async handle(c, api) {
    const id = c.req.param('id')!
    const checks = new Checks()
    const { after, cursor, payloads } = await HistoryQuery.read(c, checks)
    checks.require('?cursor', cursor === undefined || after === undefined, 'goes on by itself; leave ?after out')
    checks.throwIfAny()
    const isWithout = payloads === 'omit'
    const state = await api.client.world.store.state(id)
    if (!state) throw new RunNotFoundError(`no run '${id}'`)
    const { generation } = state
    const place = cursor === undefined ? after : placeOf(cursor, id, generation)
    const rest = (await api.client.history(id, { after: place })).map((event) => {
      const json = eventToJson(event, api.exposeStacks)
      return isWithout ? eventWithoutPayloads(json) : json
    })
    const events = fitting(rest)
    return jsonWithPayloads(
      { events, generation, ...(events.length < rest.length && { cursor: `${generation}.${events.at(-1)!.n}` }) },
      api,
    )
  },
}

/** A run that continues as new begins a history of its own, in which a place in the old one means nothing. */
function placeOf(cursor: string, runId: string, generation: number): string {
  const [begun, ...place] = cursor.split('.')
  if (Number(begun) !== generation)
    throw new ConflictError(`run '${runId}' has continued as new meanwhile; read its history from the start`)
  return place.join('.')
}

const getEvent: Route = {
  method: 'GET',
  path: '/runs/{id}/events/{n}',
  operationId: 'getEvent',
  needs: 'read',
  summary: 'One event of a history, with its payloads.',
  responses: { 200: { description: 'The event.', shape: 'Event' } },
  problems: ['unknown-run', 'unknown-event'],
  async handle(c, api) {
    const { id, n } = c.req.param() as { id: string; n: string }
    const event = PLACE.test(n) ? await api.client.event(id, n) : (await api.client.get(id)) && undefined
    if (!event)
      throw new HttpProblem(
        'unknown-event',
        `run '${id}' has no event '${n}' in its history, or none any more since it continued as new`,
      )
    return jsonWithPayloads(eventToJson(event, api.exposeStacks), api)
  },
}

export const readHistory = [getHistory, getEvent]
