import { checkName, checkRunId } from '../../../sdk/base/names.ts'
import { pauseToJson } from '../../../sdk/http-client/wire.ts'
import type { PauseScope } from '../../../sdk/index.ts'
import { BODY_PROBLEMS, readJson } from '../body.ts'
import { Checks, readFields } from '../checks.ts'
import { ref } from '../openapi-schemas.ts'
import { json, type Route } from '../route.ts'

const listPauses: Route = {
  method: 'GET',
  path: '/pauses',
  operationId: 'listPauses',
  needs: 'read',
  summary: 'What is paused, and what is just being let go.',
  responses: { 200: { description: 'All of them.', schema: ref('Pauses') } },
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
    'Let nothing new begin, of everything, of a workflow or of a run: new runs and those that wake up are queued, running steps end.',
  takesKey: true,
  body: ref('PauseRequest'),
  responses: { 200: { description: 'The pause.', schema: ref('Pause') } },
  problems: ['invalid-input', 'unknown-run', 'unknown-workflow', 'conflict', ...BODY_PROBLEMS],
  async handle(c, { client, bodyLimit }) {
    const checks = new Checks()
    const scope = readScope(readFields(await readJson(c, bodyLimit), SCOPE, checks), checks)
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
  body: ref('ResumeRequest'),
  responses: {
    200: { description: 'The pause, with its rate. It is gone once nobody is left in its line.', schema: ref('Pause') },
  },
  problems: ['invalid-input', 'conflict', ...BODY_PROBLEMS],
  async handle(c, { client, bodyLimit }) {
    const checks = new Checks()
    const { perSecond, ...fields } = readFields(await readJson(c, bodyLimit), [...SCOPE, 'perSecond'], checks)
    checks.require('$.perSecond', perSecond === undefined || typeof perSecond === 'number', 'must be a whole number')
    const scope = readScope(fields, checks)
    return json(
      pauseToJson(await client.resume(scope, perSecond === undefined ? {} : { perSecond: perSecond as number })),
    )
  },
}

export const pauses = [listPauses, pauseRuns, resumeRuns]

const SCOPE = ['all', 'workflow', 'run'] as const

/** Exactly one of them: who forgets to say what is meant does not mean everything. */
function readScope(fields: Partial<Record<(typeof SCOPE)[number], unknown>>, checks: Checks): PauseScope {
  const { all, workflow, run } = fields
  const given = SCOPE.filter((name) => fields[name] !== undefined)
  checks.require(
    '$',
    given.length === 1,
    'must say what is meant: { "all": true }, { "workflow": "order" } or { "run": "order-17" }, one of them',
  )
  checks.require('$.all', all === undefined || all === true, 'must be true')
  if (workflow !== undefined) checks.check('$.workflow', () => checkName('it', workflow))
  if (run !== undefined) checks.check('$.run', () => checkRunId(run))
  checks.throwIfAny()
  return fields as PauseScope
}
