import { scheduleToJson } from '../../../sdk/http-api/encode.ts'
import { RunNotFoundError, Schedules } from '../../../sdk/index.ts'
import { readKey } from '../checks.ts'
import { HttpProblem } from '../problem.ts'
import { json, type Route } from '../route.ts'

const listSchedules: Route = {
  method: 'GET',
  path: '/schedules',
  operationId: 'listSchedules',
  needs: 'read',
  summary: 'Schedules, by name, with when each is due next.',
  responses: { 200: { description: 'All of them.', shape: 'Schedules' } },
  problems: [],
  async handle(_c, api) {
    return json({ schedules: (await new Schedules(api.client).list()).map(scheduleToJson) })
  },
}

const steer = (action: 'pause' | 'resume' | 'trigger', summary: string): Route => ({
  method: 'POST',
  path: `/schedules/{name}/${action}`,
  operationId: `${action}Schedule`,
  needs: 'operate',
  summary,
  takesKey: true,
  responses: { 202: { description: 'The schedule has been told.', shape: 'Accepted' } },
  problems: ['invalid-input', 'unknown-schedule', 'conflict'],
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
