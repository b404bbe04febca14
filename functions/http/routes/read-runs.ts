import type { Context } from 'hono'
import { runToJson, runWithoutPayloads, stepToJson, summaryToJson, whyToJson } from '../../../sdk/http-api/encode.ts'
import { momentOf } from '../../../sdk/http-api/terms.ts'
import type { ListOptions } from '../../../sdk/index.ts'
import { Checks, heldMs } from '../checks.ts'
import { fitting } from '../pages.ts'
import { queryOf } from '../request.ts'
import { type Api, json, jsonWithPayloads, type Route } from '../route.ts'

const shapes = () => import('../../../sdk/http-api/run-queries.ts')
const RunFilter = queryOf(shapes, 'RunFilter')
const RunQuery = queryOf(shapes, 'RunQuery')
const StepsQuery = queryOf(shapes, 'StepsQuery')

const listRuns: Route = {
  method: 'GET',
  path: '/runs',
  operationId: 'listRuns',
  needs: 'read',
  summary:
    'Runs, newest first, without their payloads. A page may be short, or empty, and still have a ' +
    'cursor: there may be more behind it.',
  query: RunFilter,
  responses: { 200: { description: 'A page of runs; a cursor when there are more.', shape: 'RunPage' } },
  problems: ['invalid-input'],
  async handle(c, api) {
    const filter = await readFilter(c)
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
  query: RunQuery,
  responses: { 200: { description: 'The run. After ?wait it may still be open.', shape: 'Run' } },
  problems: ['invalid-input', 'unknown-run'],
  async handle(c, api) {
    const checks = new Checks()
    const { wait, payloads } = await RunQuery.read(c, checks)
    checks.throwIfAny()
    const timeout = heldMs(wait)
    const id = c.req.param('id')!
    const isWithout = payloads === 'omit'
    const found = await (timeout === undefined ? api.client.get(id) : api.client.settled(id, { timeout }))
    const run = runToJson(api.logsOf ? { ...found, logs: api.logsOf(found) } : found, api.exposeStacks)
    return jsonWithPayloads(isWithout ? runWithoutPayloads(run) : run, api)
  },
}

const getSteps: Route = {
  method: 'GET',
  path: '/runs/{id}/steps',
  operationId: 'getSteps',
  needs: 'read',
  summary: 'Where each step of a run of a definition stands.',
  query: StepsQuery,
  responses: {
    204: { description: 'With ?ofCode=none: the run is of code.' },
    200: { description: 'Its steps, in the order of the definition.', shape: 'Steps' },
  },
  problems: ['unknown-run', 'unknown-workflow', 'conflict'],
  async handle(c, api) {
    const id = c.req.param('id')!
    if ((await StepsQuery.read(c, new Checks())).ofCode === 'none' && (await isOfCode(id, api)))
      return new Response(null, { status: 204 })
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
  responses: { 200: { description: 'In words for people.', shape: 'Why' } },
  problems: ['unknown-run'],
  async handle(c, api) {
    return json(whyToJson(await api.client.why(c.req.param('id')!)))
  },
}

export const readRuns = [listRuns, getRun, getSteps, getWhy]

async function readFilter(c: Context): Promise<ListOptions> {
  const checks = new Checks()
  const { from, to, limit, internal, ...filter } = await RunFilter.read(c, checks)
  checks.throwIfAny()
  return {
    ...filter,
    ...(from !== undefined && { from: momentOf(from) }),
    ...(to !== undefined && { to: momentOf(to) }),
    ...(limit !== undefined && { limit: Number(limit) }),
    hidesInternal: internal === 'hide',
  }
}
