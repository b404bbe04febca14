import type { Context } from 'hono'
import { pastMoment, pointInTime } from '../../../sdk/base/duration.ts'
import type { Bulk, BulkAction, BulkFilter } from '../../../sdk/index.ts'
import { BODY_PROBLEMS, readJson } from '../body.ts'
import { Checks, LONGEST_REASON, readFields, readKey } from '../checks.ts'
import { RUN_STATUSES, ref } from '../openapi-schemas.ts'
import { HttpProblem } from '../problem.ts'
import { type Api, json, locationOf, type Route } from '../route.ts'
import { incidentToJson } from '../run-json.ts'

const listIncidents: Route = {
  method: 'GET',
  path: '/incidents',
  operationId: 'listIncidents',
  needs: 'read',
  summary: 'Runs that failed or are stuck, by what their errors have in common; the newest 1,000 of each state.',
  query: {
    workflow: { description: 'Only of this workflow.' },
    since: {
      description:
        "Only of runs that failed or got stuck at or after: ISO 8601, epoch milliseconds, or how long ago: '2h'.",
    },
  },
  responses: { 200: { description: 'The one with the most runs first.', schema: ref('Incidents') } },
  problems: ['invalid-input'],
  async handle(c, api) {
    const { workflow, since } = c.req.query()
    const checks = new Checks()
    const at = readSince('?since', since !== undefined && /^\d+$/.test(since) ? Number(since) : since, api, checks)
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
  problems: ['invalid-input', 'unknown-incident', 'unknown-workflow', ...BODY_PROBLEMS],
  async handle(c, api) {
    const checks = new Checks()
    const fields = readFields(await readJson(c, api.bodyLimit), ['filter', ...fieldsOf(action)], checks)
    const incident = c.req.param('fingerprint')!
    const filter = { ...readFilter(fields.filter, FILTER, api, checks), incident }
    const bulk: Bulk = { action, filter, ...readTerms(fields, checks) }
    checks.throwIfAny()
    await refuseUnknown(filter.workflow, api)
    if ((await api.client.wouldSteer({ action, filter: { incident }, limit: 1 })).matches === 0) {
      const detail = `no run that ${HAS_TO_BE[action]} has the fingerprint '${incident}'; see GET /incidents`
      throw new HttpProblem('unknown-incident', detail)
    }
    return steer(c, api, bulk, fields.dryRun === true)
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
  body: ref('BulkRequest'),
  responses: ANSWERS,
  problems: ['invalid-input', 'unknown-workflow', ...BODY_PROBLEMS],
  async handle(c, api) {
    const checks = new Checks()
    const fields = readFields(await readJson(c, api.bodyLimit), ['filter', ...fieldsOf(action)], checks)
    const filter = readFilter(fields.filter, [...FILTER, 'incident'], api, checks)
    const bulk: Bulk = { action, filter, ...readTerms(fields, checks) }
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

const TERMS = ['perSecond', 'limit', 'dryRun', 'reason'] as const
const OF_RERUN = ['from', 'inheritUndone'] as const
type Terms = Partial<Record<(typeof TERMS)[number] | (typeof OF_RERUN)[number], unknown>>

const fieldsOf = (action: BulkAction) => (action === 'rerun' ? [...TERMS, ...OF_RERUN] : TERMS)

/** The client checks whether the numbers are in their bounds. */
function readTerms(
  { perSecond, limit, dryRun, reason, from, inheritUndone }: Terms,
  checks: Checks,
): Omit<Bulk, 'action' | 'filter'> {
  checks.require(
    '$.from',
    from === undefined || (typeof from === 'string' && from !== ''),
    'must be the name of a step',
  )
  checks.require(
    '$.inheritUndone',
    inheritUndone === undefined || typeof inheritUndone === 'boolean',
    'must be true or false',
  )
  checks.require('$.dryRun', dryRun === undefined || typeof dryRun === 'boolean', 'must be true or false')
  const isReason = reason === undefined || (typeof reason === 'string' && reason.length <= LONGEST_REASON)
  checks.require('$.reason', isReason, `must be a string of at most ${LONGEST_REASON} characters`)
  return {
    ...(perSecond !== undefined && { perSecond: perSecond as number }),
    ...(limit !== undefined && { limit: limit as number }),
    ...(reason !== undefined && { reason: reason as string }),
    ...(from !== undefined && { from: from as string }),
    ...(inheritUndone !== undefined && { inheritUndone: inheritUndone as boolean }),
  }
}

const FILTER = ['status', 'workflow', 'tag', 'idPrefix', 'from', 'to', 'since'] as const

function readFilter(
  value: unknown,
  known: readonly ((typeof FILTER)[number] | 'incident')[],
  api: Api,
  checks: Checks,
): BulkFilter {
  // Misspelt, it would mean more runs than were meant.
  const { from, to, since, ...rest } = readFields(value ?? {}, known, checks)
  for (const [name, text] of Object.entries(rest))
    checks.require(`$.filter.${name}`, typeof text === 'string', 'must be a string')
  checks.require(
    '$.filter.status',
    rest.status === undefined || (RUN_STATUSES as unknown[]).includes(rest.status),
    `must be one of ${RUN_STATUSES.join(', ')}`,
  )
  const filter = { ...rest } as BulkFilter
  for (const [name, time] of Object.entries({ from, to })) {
    if (time !== undefined)
      checks.check(
        `$.filter.${name}`,
        () => (filter[name as 'from' | 'to'] = pointInTime(time as string, Number.POSITIVE_INFINITY, name)),
      )
  }
  const at = readSince('$.filter.since', since, api, checks)
  return { ...filter, ...(at !== undefined && { since: at }) }
}

export const incidents = [
  listIncidents,
  counts,
  onIncident('retry', 'Retry all runs of an incident, so many a second: starts a run that does it, once for each.'),
  onIncident(
    'rerun',
    'Start all failed runs of an incident anew, from their beginning or from a step: starts a run that does it, once for each.',
  ),
  onIncident('cancel', 'Ask all stuck runs of an incident to stop: starts a run that does it.'),
  onIncident('terminate', 'End all stuck runs of an incident at once: starts a run that does it.'),
  byFilter(
    'retry',
    'Retry all failed or stuck runs that a filter meets, so many a second: starts a run that does it, once for each.',
  ),
  byFilter(
    'rerun',
    'Start all ended runs that a filter meets anew, from their beginning or from a step: starts a run that does it, once for each.',
  ),
  byFilter('cancel', 'Ask all open runs that a filter meets to stop: starts a run that does it.'),
  byFilter('terminate', 'End all open runs that a filter meets at once: starts a run that does it.'),
]
