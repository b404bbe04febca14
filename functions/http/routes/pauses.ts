import { pauseToJson } from '../../../sdk/http-api/encode.ts'
import type { PauseScope } from '../../../sdk/index.ts'
import { BODY_PROBLEMS } from '../body.ts'
import { Checks } from '../checks.ts'
import { bodyOf } from '../request.ts'
import { json, type Route } from '../route.ts'

const shapes = () => import('../../../sdk/http-api/limits.ts')
const PauseRequest = bodyOf(shapes, 'PauseRequest')
const ResumeRequest = bodyOf(shapes, 'ResumeRequest')

const listPauses: Route = {
  method: 'GET',
  path: '/pauses',
  operationId: 'listPauses',
  needs: 'read',
  summary: 'What is paused, and what is just being let go.',
  responses: { 200: { description: 'All of them.', shape: 'Pauses' } },
  problems: [],
  async handle(_c, { client }) {
    return json({ pauses: (await client.pauses()).map(pauseToJson) })
  },
}

const pauseRuns: Route = {
  method: 'POST',
  path: '/pauses',
  operationId: 'pauseRuns',
  needs: 'operate',
  summary:
    'Let nothing new begin, of everything, of a workflow or of a run: new runs and those that wake ' +
    'up are queued, running steps end.',
  takesKey: true,
  body: PauseRequest,
  responses: { 200: { description: 'The pause.', shape: 'Pause' } },
  problems: ['invalid-input', 'unknown-run', 'unknown-workflow', 'conflict', ...BODY_PROBLEMS],
  async handle(c, { client, bodyLimit }) {
    const checks = new Checks()
    const scope = readScope(await PauseRequest.read(c, bodyLimit, checks), checks)
    return json(pauseToJson(await client.pause(scope)))
  },
}

const resumeRuns: Route = {
  method: 'POST',
  path: '/pauses/resume',
  operationId: 'resumeRuns',
  needs: 'operate',
  summary: 'Let what is paused go on, so many runs a second, the oldest and those of the highest priority first.',
  takesKey: true,
  body: ResumeRequest,
  responses: {
    200: { description: 'The pause, with its rate. It is gone once its queue is empty.', shape: 'Pause' },
  },
  problems: ['invalid-input', 'conflict', ...BODY_PROBLEMS],
  async handle(c, { client, bodyLimit }) {
    const checks = new Checks()
    const { perSecond, ...fields } = await ResumeRequest.read(c, bodyLimit, checks)
    const scope = readScope(fields, checks)
    return json(pauseToJson(await client.resume(scope, perSecond === undefined ? {} : { perSecond })))
  },
}

export const pauses = [listPauses, pauseRuns, resumeRuns]

const SCOPE = ['all', 'workflow', 'run'] as const

/** Exactly one of them: a request that forgets to say what is meant does not mean everything. */
function readScope(fields: Partial<Record<(typeof SCOPE)[number], unknown>>, checks: Checks): PauseScope {
  const given = SCOPE.filter((name) => fields[name] !== undefined)
  checks.require(
    '$',
    given.length === 1,
    'must say what is meant: { "all": true }, { "workflow": "order" } or { "run": "order-17" }, one of them',
  )
  checks.throwIfAny()
  return fields as PauseScope
}
