import type { Context } from 'hono'
import { pointInTime } from '../../../sdk/base/duration.ts'
import type { ListOptions, RunStatus } from '../../../sdk/index.ts'
import { Checks, readWait, WAIT_PARAM } from '../checks.ts'
import { RUN_STATUSES, ref } from '../openapi-schemas.ts'
import { fitting } from '../pages.ts'
import { PAYLOADS_PARAM, readPayloads } from '../payloads-param.ts'
import { type Api, json, jsonWithPayloads, type Route } from '../route.ts'
import { runToJson, runWithoutPayloads, stepToJson, summaryToJson, whyToJson } from '../run-json.ts'

const listRuns: Route = {
  method: 'GET',
  path: '/runs',
  operationId: 'listRuns',
  needs: 'read',
  summary:
    'Runs, newest first, without their payloads. A page may be short, or empty, and still have a cursor: there may be more behind it.',
  query: {
    workflow: { description: 'Only runs of this workflow.' },
    status: { description: 'Only runs in this state.', schema: { enum: RUN_STATUSES } },
    tag: { description: 'Only runs with this tag.' },
    idPrefix: { description: 'Only runs whose id begins with this.' },
    from: { description: 'Created at or after: ISO 8601, or epoch milliseconds.' },
    internal: {
      description:
        '`hide` leaves out what Overwinter itself runs, schedules for example, unless a workflow or an id is asked for.',
      schema: { enum: ['show', 'hide'] },
    },
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
  query: { ...WAIT_PARAM, ...PAYLOADS_PARAM },
  responses: { 200: { description: 'The run. After ?wait it may still be open.', schema: ref('Run') } },
  problems: ['invalid-input', 'unknown-run'],
  async handle(c, api) {
    const timeout = readWait(c)
    const id = c.req.param('id')!
    const isWithout = readPayloads(c) === 'omit'
    const found = await (timeout === undefined ? api.client.get(id) : api.client.settled(id, { timeout }))
    const run = { ...runToJson(found, api.exposeStacks), ...(api.logsOf && { logs: api.logsOf(found) }) }
    return jsonWithPayloads(isWithout ? runWithoutPayloads(run) : run, api)
  },
}

const getSteps: Route = {
  method: 'GET',
  path: '/runs/{id}/steps',
  operationId: 'getSteps',
  needs: 'read',
  summary: 'Where each step of a run of a definition stands.',
  query: {
    ofCode: {
      description: '`none` answers 204 for a run of code, which has no steps to list. Otherwise that is a conflict.',
      schema: { enum: ['none'] },
    },
  },
  responses: {
    204: { description: 'With ?ofCode=none: the run is of code.' },
    200: { description: 'Its steps, in the order of the definition.', schema: ref('Steps') },
  },
  problems: ['unknown-run', 'unknown-workflow', 'conflict'],
  async handle(c, api) {
    const id = c.req.param('id')!
    if (c.req.query('ofCode') === 'none' && (await isOfCode(id, api))) return new Response(null, { status: 204 })
    return json({ steps: (await api.client.steps(id)).map(stepToJson) })
  },
}

async function isOfCode(id: string, { client }: Api): Promise<boolean> {
  const { workflow, version } = await client.get(id)
  return !('definition' in (await client.definitions.exact(workflow, version)))
}

const getWhy: Route = {
  method: 'GET',
  path: '/runs/{id}/why',
  operationId: 'getWhy',
  needs: 'read',
  summary:
    'Why a run stands where it stands: what it waits for, since when, what is known about that, and what can be done.',
  responses: { 200: { description: 'In words for people.', schema: ref('Why') } },
  problems: ['unknown-run'],
  async handle(c, api) {
    return json(whyToJson(await api.client.why(c.req.param('id')!)))
  },
}

export const readRuns = [listRuns, getRun, getSteps, getWhy]

function readFilter(c: Context): ListOptions {
  const { workflow, status, tag, idPrefix, from, to, cursor, limit } = c.req.query()
  const checks = new Checks()
  checks.require(
    '?status',
    status === undefined || (RUN_STATUSES as string[]).includes(status),
    `must be one of ${RUN_STATUSES.join(', ')}`,
  )
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
  const { internal } = c.req.query()
  checks.require(
    '?internal',
    internal === undefined || internal === 'show' || internal === 'hide',
    'must be show or hide',
  )
  const times = { from: time('from', from), to: time('to', to) }
  checks.throwIfAny()
  return {
    workflow,
    status: status as RunStatus | undefined,
    tag,
    idPrefix,
    ...times,
    cursor,
    limit: limit === undefined ? undefined : Number(limit),
    hidesInternal: internal === 'hide',
  }
}
