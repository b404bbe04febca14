import type { Context } from 'hono'
import { pointInTime } from '../../../sdk/engine/duration.ts'
import type { ListOptions, RunStatus } from '../../../sdk/index.ts'
import { Checks, readWait, WAIT_PARAM } from '../checks.ts'
import { RUN_STATUSES, ref } from '../openapi-schemas.ts'
import { json, type Route } from '../route.ts'
import { eventToJson, runToJson, stepToJson } from '../run-json.ts'

const listRuns: Route = {
  method: 'GET',
  path: '/runs',
  operationId: 'listRuns',
  summary: 'Runs, newest first.',
  query: {
    workflow: { description: 'Only runs of this workflow.' },
    status: { description: 'Only runs in this state.', schema: { enum: RUN_STATUSES } },
    tag: { description: 'Only runs with this tag.' },
    from: { description: 'Created at or after: ISO 8601, or epoch milliseconds.' },
    to: { description: 'Created before: ISO 8601, or epoch milliseconds.' },
    cursor: { description: 'The cursor of the page before, unchanged.' },
    limit: { description: 'How many, 1 to 1000. Default 50.', schema: { type: 'integer', minimum: 1, maximum: 1000 } },
  },
  responses: { 200: { description: 'A page of runs; a cursor when there are more.', schema: ref('RunPage') } },
  problems: ['invalid-input'],
  async handle(c, api) {
    const { runs, cursor } = await api.client.list(readFilter(c))
    return json({ runs: runs.map((run) => runToJson(run, api.exposeStacks)), cursor })
  },
}

const getRun: Route = {
  method: 'GET',
  path: '/runs/{id}',
  operationId: 'getRun',
  summary: 'One run, now or once it has ended.',
  query: WAIT_PARAM,
  responses: { 200: { description: 'The run. After ?wait it may still be open.', schema: ref('Run') } },
  problems: ['invalid-input', 'unknown-run'],
  async handle(c, api) {
    const timeout = readWait(c)
    const id = c.req.param('id')!
    const run = await (timeout === undefined ? api.client.get(id) : api.client.settled(id, { timeout }))
    return json(runToJson(run, api.exposeStacks))
  },
}

const getHistory: Route = {
  method: 'GET',
  path: '/runs/{id}/history',
  operationId: 'getHistory',
  summary: 'What happened in a run, in order.',
  responses: { 200: { description: 'Its events.', schema: ref('History') } },
  problems: ['unknown-run'],
  async handle(c, api) {
    const events = await api.client.history(c.req.param('id')!)
    return json({ events: events.map((event) => eventToJson(event, api.exposeStacks)) })
  },
}

const getSteps: Route = {
  method: 'GET',
  path: '/runs/{id}/steps',
  operationId: 'getSteps',
  summary: 'Where each step of a run of a definition stands.',
  responses: { 200: { description: 'Its steps, in the order of the definition.', schema: ref('Steps') } },
  problems: ['unknown-run', 'unknown-workflow', 'conflict'],
  async handle(c, api) {
    return json({ steps: (await api.client.steps(c.req.param('id')!)).map(stepToJson) })
  },
}

export const readRuns = [listRuns, getRun, getHistory, getSteps]

function readFilter(c: Context): ListOptions {
  const { workflow, status, tag, from, to, cursor, limit } = c.req.query()
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
  return { workflow, status: status as RunStatus | undefined, tag, ...times, cursor, limit: limit === undefined ? undefined : Number(limit) }
}
