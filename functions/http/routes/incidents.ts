import type { Context } from 'hono'
import { pastMoment, pointInTime } from '../../../sdk/base/duration.ts'
import { incidentToJson } from '../../../sdk/http-api/encode.ts'
import type { BulkRequestJson } from '../../../sdk/http-api/many-runs.ts'
import { momentOf } from '../../../sdk/http-api/terms.ts'
import type { Bulk, BulkAction, BulkFilter } from '../../../sdk/index.ts'
import { BODY_PROBLEMS } from '../body.ts'
import { Checks, readKey } from '../checks.ts'
import { HttpProblem } from '../problem.ts'
import { bodyOf, queryOf } from '../request.ts'
import { type Api, json, locationOf, type Route } from '../route.ts'

const shapes = () => import('../../../sdk/http-api/many-runs.ts')
const IncidentsQuery = queryOf(shapes, 'IncidentsQuery')
const OnIncident = { plain: bodyOf(shapes, 'IncidentRequest'), rerun: bodyOf(shapes, 'IncidentRerunRequest') }
const ByFilter = { plain: bodyOf(shapes, 'BulkRequest'), rerun: bodyOf(shapes, 'BulkRerunRequest') }
const termsOf = (action: BulkAction): 'rerun' | 'plain' => (action === 'rerun' ? 'rerun' : 'plain')

const listIncidents: Route = {
  method: 'GET',
  path: '/incidents',
  operationId: 'listIncidents',
  needs: 'read',
  summary: 'Runs that failed or are stuck, by what their errors have in common; the newest 1,000 of each state.',
  query: IncidentsQuery,
  responses: { 200: { description: 'The one with the most runs first.', shape: 'Incidents' } },
  problems: ['invalid-input'],
  async handle(c, api) {
    const checks = new Checks()
    const { workflow, since } = await IncidentsQuery.read(c, checks)
    const at = readSince('?since', since === undefined ? since : momentOf(since), api, checks)
    checks.throwIfAny()
    const { incidents, isComplete } = await api.client.incidents({ workflow, ...(at !== undefined && { since: at }) })
    return json({ incidents: incidents.map(incidentToJson), isComplete })
  },
}

function readSince(path: string, since: unknown, { client }: Api, checks: Checks): number | undefined {
  let at: number | undefined
  if (since !== undefined)
    checks.check(path, () => (at = pastMoment(since as string, client.world.clock.now(), 'since')))
  return at
}

const counts: Route = {
  method: 'GET',
  path: '/counts',
  operationId: 'countRuns',
  needs: 'read',
  summary: 'How many runs are in each state. On AWS only failed and stuck ones are counted, up to 1,000.',
  responses: { 200: { description: 'By state.', shape: 'Counts' } },
  problems: [],
  handle: async (_c, api) => json({ counts: await api.client.counts() }),
}

const ANSWERS: Route['responses'] = {
  202: { description: 'The run that does it. Its progress and its output say how far it is.', shape: 'Started' },
  200: { description: 'With dryRun: how many runs it would be.', shape: 'WouldSteer' },
}

const onIncident = (action: BulkAction, summary: string): Route => ({
  method: 'POST',
  path: `/incidents/{fingerprint}/${action}`,
  operationId: `${action}Incident`,
  needs: 'operate',
  summary,
  takesKey: true,
  body: OnIncident[termsOf(action)],
  responses: ANSWERS,
  problems: ['invalid-input', 'unknown-incident', 'unknown-workflow', ...BODY_PROBLEMS],
  async handle(c, api) {
    const checks = new Checks()
    const { filter: among, dryRun, ...terms }: Sent = await OnIncident[termsOf(action)].read(c, api.bodyLimit, checks)
    const incident = c.req.param('fingerprint')!
    const filter = { ...readFilter(among, api, checks), incident }
    const bulk: Bulk = { action, filter, ...terms }
    checks.throwIfAny()
    await refuseUnknown(filter.workflow, api)
    if ((await api.client.wouldSteer({ action, filter: { incident }, limit: 1 })).matches === 0) {
      const detail = `no run that ${HAS_TO_BE[action]} has the fingerprint '${incident}'; see GET /incidents`
      throw new HttpProblem('unknown-incident', detail)
    }
    return steer(c, api, bulk, dryRun === true)
  },
})

const HAS_TO_BE: Record<BulkAction, string> = {
  retry: 'failed or is stuck',
  rerun: 'failed',
  cancel: 'is stuck',
  terminate: 'is stuck',
}

const byFilter = (action: BulkAction, summary: string): Route => ({
  method: 'POST',
  path: `/bulk/${action}`,
  operationId: `${action}Many`,
  needs: 'operate',
  summary,
  takesKey: true,
  body: ByFilter[termsOf(action)],
  responses: ANSWERS,
  problems: ['invalid-input', 'unknown-workflow', ...BODY_PROBLEMS],
  async handle(c, api) {
    const checks = new Checks()
    const { filter, dryRun, ...terms }: Sent = await ByFilter[termsOf(action)].read(c, api.bodyLimit, checks)
    const bulk: Bulk = { action, filter: readFilter(filter, api, checks), ...terms }
    checks.throwIfAny()
    await refuseUnknown(bulk.filter.workflow, api)
    return steer(c, api, bulk, dryRun === true)
  },
})

/**
 * A misspelt name would meet no run, and look as if all were well. Runs may outlive their code, and are
 * steered all the same.
 */
async function refuseUnknown(workflow: string | undefined, { client }: Api): Promise<void> {
  if (workflow === undefined || client.registry.has(workflow)) return
  const { runs, cursor } = await client.list({ workflow, limit: 1 })
  if (runs.length === 0 && cursor === undefined) client.registry.latest(workflow)
}

async function steer(c: Context, { client }: Api, bulk: Bulk, isDry: boolean): Promise<Response> {
  if (isDry) return json(await client.wouldSteer(bulk))
  const started = await client.steerMany(bulk, readKey(c))
  return json(started, 202, locationOf(started.runId))
}

type Sent = Partial<BulkRequestJson>

/** With its times as numbers. */
function readFilter(given: Sent['filter'] = {}, api: Api, checks: Checks): BulkFilter {
  const { from, to, since, ...filter } = given
  const time = (path: string, value: string | number | undefined, read: (value: string | number) => number) => {
    let at: number | undefined
    if (value !== undefined) checks.check(`$.filter.${path}`, () => (at = read(value)))
    return at === undefined ? {} : { [path]: at }
  }
  const atOnce = (name: string) => (value: string | number) => pointInTime(value, Number.POSITIVE_INFINITY, name)
  return {
    ...filter,
    ...time('from', from, atOnce('from')),
    ...time('to', to, atOnce('to')),
    ...time('since', since, (value) => pastMoment(value, api.client.world.clock.now(), 'since')),
  }
}

export const incidents = [
  listIncidents,
  counts,
  onIncident('retry', 'Retry all runs of an incident, so many a second: starts a run that does it, once for each.'),
  onIncident(
    'rerun',
    'Start all failed runs of an incident anew, from their beginning or from a step: starts a run ' +
      'that does it, once for each.',
  ),
  onIncident('cancel', 'Ask all stuck runs of an incident to stop: starts a run that does it.'),
  onIncident('terminate', 'End all stuck runs of an incident at once: starts a run that does it.'),
  byFilter(
    'retry',
    'Retry all failed or stuck runs that a filter meets, so many a second: starts a run that does it, once for each.',
  ),
  byFilter(
    'rerun',
    'Start all ended runs that a filter meets anew, from their beginning or from a step: starts a ' +
      'run that does it, once for each.',
  ),
  byFilter('cancel', 'Ask all open runs that a filter meets to stop: starts a run that does it.'),
  byFilter('terminate', 'End all open runs that a filter meets at once: starts a run that does it.'),
]
