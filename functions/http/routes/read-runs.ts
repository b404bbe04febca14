import type { Context } from 'hono'
import { pointInTime } from '../../../sdk/engine/duration.ts'
import { ConflictError, type ListOptions, type RunStatus } from '../../../sdk/index.ts'
import { Checks, readWait, WAIT_PARAM } from '../checks.ts'
import { RUN_STATUSES, ref } from '../openapi-schemas.ts'
import { fitting } from '../pages.ts'
import { json, jsonWithPayloads, type Route } from '../route.ts'
import { eventToJson, runToJson, stepToJson, summaryToJson, whyToJson } from '../run-json.ts'

const listRuns: Route = {
  method: 'GET',
  path: '/runs',
  operationId: 'listRuns',
  needs: 'read',
  summary: 'Runs, newest first, without their payloads. A page may be short, or empty, and still have a cursor: there may be more behind it.',
  query: {
    workflow: { description: 'Only runs of this workflow.' },
    status: { description: 'Only runs in this state.', schema: { enum: RUN_STATUSES } },
    tag: { description: 'Only runs with this tag.' },
    idPrefix: { description: 'Only runs whose id begins with this.' },
    from: { description: 'Created at or after: ISO 8601, or epoch milliseconds.' },
    to: { description: 'Created before: ISO 8601, or epoch milliseconds.' },
    cursor: { description: 'The cursor of the page before, unchanged.' },
    limit: { description: 'How many, 1 to 1000. Default 50.', schema: { type: 'integer', minimum: 1, maximum: 1000 } },
  },
  responses: { 200: { description: 'A page of runs; a cursor when there are more.', schema: ref('RunPage') } },
  problems: ['invalid-input'],
  async handle(c, api) {
    const filter = readFilter(c)
    const { runs, cursor } = await api.client.list(filter)
    const all = runs.map(summaryToJson)
    const fit = fitting(all)
    if (fit.length === all.length) return json({ runs: all, cursor })
    // Only the store can say where a shorter page ends.
    const shorter = await api.client.list({ ...filter, limit: fit.length })
    return json({ runs: shorter.runs.map(summaryToJson), cursor: shorter.cursor })
  },
}

const getRun: Route = {
  method: 'GET',
  path: '/runs/{id}',
  operationId: 'getRun',
  needs: 'read',
  summary: 'One run, now or once it has ended.',
  query: WAIT_PARAM,
  responses: { 200: { description: 'The run. After ?wait it may still be open.', schema: ref('Run') } },
  problems: ['invalid-input', 'unknown-run'],
  async handle(c, api) {
    const timeout = readWait(c)
    const id = c.req.param('id')!
    const run = await (timeout === undefined ? api.client.get(id) : api.client.settled(id, { timeout }))
    return jsonWithPayloads(runToJson(run, api.exposeStacks), api)
  },
}

const getHistory: Route = {
  method: 'GET',
  path: '/runs/{id}/history',
  operationId: 'getHistory',
  needs: 'read',
  summary: 'What happened in a run, in order.',
  query: { cursor: { description: 'The cursor of the page before, unchanged.' } },
  responses: { 200: { description: 'Its events; a cursor when there are more than fit into one answer.', schema: ref('History') } },
  problems: ['invalid-input', 'unknown-run', 'conflict'],
  async handle(c, api) {
    const id = c.req.param('id')!
    const { generation } = await api.client.get(id)
    const from = readPlace(c, id, generation)
    const rest = (await api.client.history(id)).slice(from).map((event) => eventToJson(event, api.exposeStacks))
    const events = fitting(rest)
    return jsonWithPayloads({ events, ...(events.length < rest.length && { cursor: `${generation}.${from + events.length}` }) }, api)
  },
}

/** A run that continues as new begins a history of its own, in which a place in the old one means nothing. */
function readPlace(c: Context, runId: string, generation: number): number {
  const cursor = c.req.query('cursor')
  if (cursor === undefined) return 0
  const [, begun, place] = /^(\d{1,9})\.(\d{1,9})$/.exec(cursor) ?? []
  const checks = new Checks()
  checks.require('?cursor', place !== undefined, 'must be the cursor of the page before, unchanged')
  checks.throwIfAny()
  if (Number(begun) !== generation) throw new ConflictError(`run '${runId}' has continued as new meanwhile; read its history from the start`)
  return Number(place)
}

const getSteps: Route = {
  method: 'GET',
  path: '/runs/{id}/steps',
  operationId: 'getSteps',
  needs: 'read',
  summary: 'Where each step of a run of a definition stands.',
  responses: { 200: { description: 'Its steps, in the order of the definition.', schema: ref('Steps') } },
  problems: ['unknown-run', 'unknown-workflow', 'conflict'],
  async handle(c, api) {
    return json({ steps: (await api.client.steps(c.req.param('id')!)).map(stepToJson) })
  },
}

const getWhy: Route = {
  method: 'GET',
  path: '/runs/{id}/why',
  operationId: 'getWhy',
  needs: 'read',
  summary: 'Why a run stands where it stands: what it waits for, since when, what is known about that, and what can be done.',
  responses: { 200: { description: 'In words for people.', schema: ref('Why') } },
  problems: ['unknown-run'],
  async handle(c, api) {
    return json(whyToJson(await api.client.why(c.req.param('id')!)))
  },
}

export const readRuns = [listRuns, getRun, getHistory, getSteps, getWhy]

function readFilter(c: Context): ListOptions {
  const { workflow, status, tag, idPrefix, from, to, cursor, limit } = c.req.query()
  const checks = new Checks()
  checks.require('?status', status === undefined || (RUN_STATUSES as string[]).includes(status), `must be one of ${RUN_STATUSES.join(', ')}`)
  checks.require(
    '?limit',
    limit === undefined || (/^\d{1,4}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= 1000),
    'must be a whole number from 1 to 1000',
  )
  const time = (name: string, value: string | undefined) => {
    if (value === undefined) return undefined
    const at = /^\d+$/.test(value) ? Number(value) : value
    checks.check(`?${name}`, () => pointInTime(at, Number.POSITIVE_INFINITY, name))
    return at
  }
  const times = { from: time('from', from), to: time('to', to) }
  checks.throwIfAny()
  return { workflow, status: status as RunStatus | undefined, tag, idPrefix, ...times, cursor, limit: limit === undefined ? undefined : Number(limit) }
}
