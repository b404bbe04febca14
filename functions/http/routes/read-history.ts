import type { Context } from 'hono'
import { ConflictError, RunNotFoundError } from '../../../sdk/index.ts'
import { Checks } from '../checks.ts'
import { ref } from '../openapi-schemas.ts'
import { fitting } from '../pages.ts'
import { PAYLOADS_PARAM, readPayloads } from '../payloads-param.ts'
import { HttpProblem } from '../problem.ts'
import { jsonWithPayloads, type Route } from '../route.ts'
import { eventToJson, eventWithoutPayloads } from '../run-json.ts'

const getHistory: Route = {
  method: 'GET',
  path: '/runs/{id}/history',
  operationId: 'getHistory',
  needs: 'read',
  summary: 'What happened in a run, in order.',
  query: {
    after: { description: "Only what came behind this event: its 'n'. Whoever asks again and again follows a run." },
    ...PAYLOADS_PARAM,
    cursor: { description: 'The cursor of the page before, unchanged.' },
  },
  responses: {
    200: { description: 'Its events; a cursor when there are more than fit into one answer.', schema: ref('History') },
  },
  problems: ['invalid-input', 'unknown-run', 'conflict'],
  async handle(c, api) {
    const id = c.req.param('id')!
    const isWithout = readPayloads(c) === 'omit'
    const state = await api.client.world.store.state(id)
    if (!state) throw new RunNotFoundError(`no run '${id}'`)
    const { generation } = state
    const after = readPlace(c, id, generation)
    const rest = (await api.client.history(id, { after })).map((event) => {
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
function readPlace(c: Context, runId: string, generation: number): string | undefined {
  const { after, cursor } = c.req.query()
  const [, begun, place] = /^(\d{1,9})\.(\d{1,9}\.\d{1,9})$/.exec(cursor ?? '') ?? []
  const checks = new Checks()
  checks.require(
    '?after',
    after === undefined || PLACE.test(after),
    "must be the 'n' of an event of this history, '12.0' for example",
  )
  checks.require(
    '?cursor',
    cursor === undefined || place !== undefined,
    'must be the cursor of the page before, unchanged',
  )
  checks.require('?cursor', cursor === undefined || after === undefined, 'goes on by itself; leave ?after out')
  checks.throwIfAny()
  if (begun !== undefined && Number(begun) !== generation) {
    throw new ConflictError(`run '${runId}' has continued as new meanwhile; read its history from the start`)
  }
  return place ?? after
}

const PLACE = /^\d{1,9}\.\d{1,9}$/

const getEvent: Route = {
  method: 'GET',
  path: '/runs/{id}/events/{n}',
  operationId: 'getEvent',
  needs: 'read',
  summary: 'One event of a history, with its payloads.',
  responses: { 200: { description: 'The event.', schema: ref('Event') } },
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
