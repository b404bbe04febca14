import type { Context } from 'hono'
import { pointInTime } from '../../../sdk/engine/duration.ts'
import type { Bulk, BulkAction, BulkFilter, Incident } from '../../../sdk/index.ts'
import { BODY_PROBLEMS, readJson } from '../body.ts'
import { Checks, LONGEST_REASON, readFields, readKey } from '../checks.ts'
import { RUN_STATUSES, ref } from '../openapi-schemas.ts'
import { HttpProblem } from '../problem.ts'
import { type Api, json, locationOf, type Route } from '../route.ts'

const listIncidents: Route = {
  method: 'GET',
  path: '/incidents',
  operationId: 'listIncidents',
  needs: 'read',
  summary: 'Runs that failed or are stuck, by what their errors have in common; the newest 1,000 of each state.',
  query: { workflow: { description: 'Only of this workflow.' } },
  responses: { 200: { description: 'The one with the most runs first.', schema: ref('Incidents') } },
  problems: [],
  async handle(c, api) {
    const { incidents, isComplete } = await api.client.incidents({ workflow: c.req.query('workflow') })
    return json({ incidents: incidents.map(incidentToJson), isComplete })
  },
}

const incidentToJson = ({ firstAt, lastAt, ...rest }: Incident) => ({
  ...rest,
  firstAt: new Date(firstAt).toISOString(),
  lastAt: new Date(lastAt).toISOString(),
})

const counts: Route = {
  method: 'GET',
  path: '/counts',
  operationId: 'countRuns',
  needs: 'read',
  summary: 'How many runs are in each state. On AWS only failed and stuck ones are counted, up to 1,000.',
  responses: { 200: { description: 'By state.', schema: ref('Counts') } },
  problems: [],
  handle: async (_c, api) => json({ counts: await api.client.counts() }),
}

const ANSWERS = {
  202: { description: 'The run that does it. Its progress and its output say how far it is.', schema: ref('Started') },
  200: { description: 'With dryRun: how many runs it would be.', schema: ref('WouldSteer') },
}

const onIncident = (action: BulkAction, summary: string): Route => ({
  method: 'POST',
  path: `/incidents/{fingerprint}/${action}`,
  operationId: `${action}Incident`,
  needs: 'operate',
  summary,
  takesKey: true,
  body: ref('IncidentRequest'),
  responses: ANSWERS,
  problems: ['invalid-input', 'unknown-incident', ...BODY_PROBLEMS],
  async handle(c, api) {
    const checks = new Checks()
    const fields = readFields(await readJson(c, api.bodyLimit), PACE, checks)
    const bulk: Bulk = { action, filter: { incident: c.req.param('fingerprint')! }, ...readPace(fields, checks) }
    checks.throwIfAny()
    if ((await api.client.wouldSteer({ ...bulk, limit: 1 })).matches === 0) {
      const detail = `no run that ${action === 'retry' ? 'failed or is stuck' : 'is stuck'} has the fingerprint '${bulk.filter.incident}'; see GET /incidents`
      throw new HttpProblem('unknown-incident', detail)
    }
    return steer(c, api, bulk, fields.dryRun === true)
  },
})

const byFilter = (action: BulkAction, summary: string): Route => ({
  method: 'POST',
  path: `/bulk/${action}`,
  operationId: `${action}Many`,
  needs: 'operate',
  summary,
  takesKey: true,
  body: ref('BulkRequest'),
  responses: ANSWERS,
  problems: ['invalid-input', 'unknown-workflow', ...BODY_PROBLEMS],
  async handle(c, api) {
    const checks = new Checks()
    const fields = readFields(await readJson(c, api.bodyLimit), ['filter', ...PACE], checks)
    const bulk: Bulk = { action, filter: readFilter(fields.filter, checks), ...readPace(fields, checks) }
    checks.throwIfAny()
    await refuseUnknown(bulk.filter.workflow, api)
    return steer(c, api, bulk, fields.dryRun === true)
  },
})

/** A misspelt name would meet no run, and look as if all were well. Runs may outlive their code, and are steered all the same. */
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

const PACE = ['perSecond', 'limit', 'dryRun', 'reason'] as const

/** Whether the numbers are in their bounds is asked by whoever starts it. */
function readPace(
  { perSecond, limit, dryRun, reason }: Partial<Record<(typeof PACE)[number], unknown>>,
  checks: Checks,
): Pick<Bulk, 'perSecond' | 'limit' | 'reason'> {
  checks.require('$.dryRun', dryRun === undefined || typeof dryRun === 'boolean', 'must be true or false')
  const isReason = reason === undefined || (typeof reason === 'string' && reason.length <= LONGEST_REASON)
  checks.require('$.reason', isReason, `must be a string of at most ${LONGEST_REASON} characters`)
  return {
    ...(perSecond !== undefined && { perSecond: perSecond as number }),
    ...(limit !== undefined && { limit: limit as number }),
    ...(reason !== undefined && { reason: reason as string }),
  }
}

const FILTER = ['status', 'workflow', 'tag', 'idPrefix', 'from', 'to'] as const

function readFilter(value: unknown, checks: Checks): BulkFilter {
  // Misspelt, it would mean more runs than were meant.
  const { from, to, ...rest } = readFields(value ?? {}, FILTER, checks)
  for (const [name, text] of Object.entries(rest)) checks.require(`$.filter.${name}`, typeof text === 'string', 'must be a string')
  checks.require('$.filter.status', rest.status === undefined || (RUN_STATUSES as unknown[]).includes(rest.status), `must be one of ${RUN_STATUSES.join(', ')}`)
  const filter = { ...rest } as BulkFilter
  for (const [name, time] of Object.entries({ from, to })) {
    if (time !== undefined)
      checks.check(`$.filter.${name}`, () => (filter[name as 'from' | 'to'] = pointInTime(time as string, Number.POSITIVE_INFINITY, name)))
  }
  return filter
}

export const incidents = [
  listIncidents,
  counts,
  onIncident('retry', 'Retry all runs of an incident, so many a second: starts a run that does it, once for each.'),
  onIncident('cancel', 'Ask all stuck runs of an incident to stop: starts a run that does it.'),
  onIncident('terminate', 'End all stuck runs of an incident at once: starts a run that does it.'),
  byFilter('retry', 'Retry all failed or stuck runs that a filter meets, so many a second: starts a run that does it, once for each.'),
  byFilter('cancel', 'Ask all open runs that a filter meets to stop: starts a run that does it.'),
  byFilter('terminate', 'End all open runs that a filter meets at once: starts a run that does it.'),
]
