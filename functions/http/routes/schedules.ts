import { RunNotFoundError, Schedules, type ScheduleView } from '../../../sdk/index.ts'
import { readKey } from '../checks.ts'
import { ref } from '../openapi-schemas.ts'
import { HttpProblem } from '../problem.ts'
import { json, type Route } from '../route.ts'

const listSchedules: Route = {
  method: 'GET',
  path: '/schedules',
  operationId: 'listSchedules',
  summary: 'Schedules, by name, with when each is due next.',
  responses: { 200: { description: 'All of them.', schema: ref('Schedules') } },
  problems: [],
  async handle(_c, api) {
    return json({ schedules: (await new Schedules(api.client).list()).map(toJson) })
  },
}

const steer = (action: 'pause' | 'resume' | 'trigger', summary: string): Route => ({
  method: 'POST',
  path: `/schedules/{name}/${action}`,
  operationId: `${action}Schedule`,
  summary,
  takesKey: true,
  responses: { 202: { description: 'It will.', schema: ref('Accepted') } },
  problems: ['invalid-input', 'unknown-schedule'],
  async handle(c, api) {
    try {
      await new Schedules(api.client)[action](c.req.param('name')!, readKey(c))
    } catch (error) {
      throw error instanceof RunNotFoundError ? new HttpProblem('unknown-schedule', error.message) : error
    }
    return json({ accepted: true }, 202)
  },
})

export const schedules = [
  listSchedules,
  steer('pause', 'Start nothing more until it is resumed.'),
  steer('resume', 'Go on from now; what was due during the pause is not made up for.'),
  steer('trigger', 'Start a run now, whatever the plan says.'),
]

function toJson({ nextDue, ...schedule }: ScheduleView) {
  return { ...schedule, ...(nextDue !== undefined && { nextDue: new Date(nextDue).toISOString() }) }
}
