import type { Context } from 'hono'
import { recordError } from '../../../sdk/base/error-records.ts'
import type { Json } from '../../../sdk/base/json.ts'
import { checkName } from '../../../sdk/base/names.ts'
import { ownKey } from '../../../sdk/base/own-key.ts'
import { decodeUncoded, encode } from '../../../sdk/base/values.ts'
import type { RerunOptions } from '../../../sdk/client/rerunning.ts'
import { RequestRefusedError, TimeoutError } from '../../../sdk/index.ts'
import { BODY_PROBLEMS, readJson } from '../body.ts'
import { Checks, LONGEST_REASON, LONGEST_WAIT_MS, readFields, readKey, readWait } from '../checks.ts'
import { checkChosenId, startUnder } from '../chosen-id.ts'
import { ref } from '../openapi-schemas.ts'
import { HttpProblem } from '../problem.ts'
import { type Api, json, jsonWithPayloads, locationOf, type Route } from '../route.ts'
import { errorToJson } from '../run-json.ts'

const signalRun: Route = {
  method: 'POST',
  path: '/runs/{id}/signals/{name}',
  operationId: 'signalRun',
  needs: 'operate',
  summary:
    'Send a signal; it is kept until the run waits for it. The body is the payload and may be empty. A workflow that declares its signals takes no other.',
  takesKey: true,
  body: {},
  responses: { 202: { description: '`accepted` is false for a repeat.', schema: ref('Accepted') } },
  problems: ['invalid-input', 'unknown-run', 'unknown-signal', 'misfit', 'conflict', ...BODY_PROBLEMS],
  async handle(c, api) {
    const payload = await readJson(c, api.bodyLimit)
    return json(
      await api.client.signal(
        c.req.param('id')!,
        c.req.param('name')!,
        decodeUncoded(payload as Json | undefined),
        readKey(c),
      ),
      202,
    )
  },
}

const askRun: Route = {
  method: 'POST',
  path: '/runs/{id}/requests/{name}',
  operationId: 'askRun',
  needs: 'operate',
  summary:
    'Send a request and wait for what the run replies. The body is the payload and may be empty. Without a reply in time, ask again with the same Idempotency-Key: it counts once.',
  query: {
    wait: {
      description: `Holds the request until there is a reply, at most this long: '20s'. Cut to ${LONGEST_WAIT_MS / 1000} s, which is the default.`,
    },
  },
  takesKey: true,
  body: {},
  responses: {
    200: { description: 'What the run replied.', schema: ref('Reply') },
    202: {
      description: 'The request is kept; there is no reply yet. To wait on, ask again with this key.',
      schema: ref('Asked'),
    },
  },
  problems: [
    'invalid-input',
    'unknown-run',
    'unknown-signal',
    'misfit',
    'conflict',
    'refused',
    'gone',
    ...BODY_PROBLEMS,
  ],
  async handle(c, api) {
    const { idempotencyKey = ownKey() } = readKey(c)
    const options = { idempotencyKey, timeout: readWait(c) ?? LONGEST_WAIT_MS }
    const payload = decodeUncoded((await readJson(c, api.bodyLimit)) as Json | undefined)
    try {
      const result = await api.client.ask(c.req.param('id')!, c.req.param('name')!, payload, options)
      return jsonWithPayloads({ result: encode(result, 'the reply') }, api)
    } catch (error) {
      if (error instanceof TimeoutError) return json({ accepted: true, idempotencyKey }, 202)
      if (!(error instanceof RequestRefusedError)) throw error
      throw new HttpProblem(
        'refused',
        error.message,
        error.cause instanceof Error ? { error: errorToJson(recordError(error.cause), api.exposeStacks) } : {},
      )
    }
  },
}

const cancelRun: Route = {
  method: 'POST',
  path: '/runs/{id}/cancel',
  operationId: 'cancelRun',
  needs: 'operate',
  summary: 'Ask a run to stop; its clean-up runs.',
  takesKey: true,
  body: ref('Reason'),
  responses: { 202: { description: 'Asked.', schema: ref('Started') } },
  problems: ['invalid-input', 'unknown-run', 'conflict', ...BODY_PROBLEMS],
  async handle(c, api) {
    await api.client.cancel(c.req.param('id')!, await readReason(c, api), readKey(c))
    return standing(c, api, 202)
  },
}

const terminateRun: Route = {
  method: 'POST',
  path: '/runs/{id}/terminate',
  operationId: 'terminateRun',
  needs: 'operate',
  summary: 'End a run at once; none of its code runs any more.',
  takesKey: true,
  body: ref('Reason'),
  responses: { 200: { description: 'Ended.', schema: ref('Started') } },
  problems: ['invalid-input', 'unknown-run', 'conflict', ...BODY_PROBLEMS],
  async handle(c, api) {
    await api.client.terminate(c.req.param('id')!, await readReason(c, api), readKey(c))
    return standing(c, api, 200)
  },
}

const retryRun: Route = {
  method: 'POST',
  path: '/runs/{id}/retry',
  operationId: 'retryRun',
  needs: 'operate',
  summary: 'Let a failed run go on from the step that failed, or try a stuck one again.',
  takesKey: true,
  responses: { 202: { description: 'It goes on.', schema: ref('Started') } },
  problems: ['invalid-input', 'unknown-run', 'conflict'],
  async handle(c, api) {
    await api.client.retry(c.req.param('id')!, readKey(c))
    return standing(c, api, 202)
  },
}

const wakeRun: Route = {
  method: 'POST',
  path: '/runs/{id}/wake',
  operationId: 'wakeRun',
  needs: 'operate',
  summary: 'End the sleeps a run is in, or try a stuck one again.',
  takesKey: true,
  responses: { 202: { description: 'Woken.', schema: ref('Started') } },
  problems: ['invalid-input', 'unknown-run', 'conflict'],
  async handle(c, api) {
    await api.client.wake(c.req.param('id')!, readKey(c))
    return standing(c, api, 202)
  },
}

const rerunRun: Route = {
  method: 'POST',
  path: '/runs/{id}/rerun',
  operationId: 'rerunRun',
  needs: 'operate',
  summary:
    'A new run with the same input that takes over the history up to, and without, the given step; without one it begins at its beginning.',
  takesKey: true,
  body: ref('RerunRequest'),
  responses: {
    201: { description: 'Started.', schema: ref('Started') },
    200: { description: 'It had been started before, under the same Idempotency-Key.', schema: ref('Started') },
  },
  problems: ['invalid-input', 'unknown-run', 'conflict', ...BODY_PROBLEMS],
  async handle(c, api) {
    const checks = new Checks()
    const { from, id, inheritUndone } = readFields(
      await readJson(c, api.bodyLimit),
      ['from', 'id', 'inheritUndone'],
      checks,
    )
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
    checkChosenId(id, checks)
    checks.throwIfAny()
    const options = { from, id, inheritUndone, ...readKey(c) } as RerunOptions
    const { runId, created } = await startUnder(c, api, id, () => api.client.rerun(c.req.param('id')!, options))
    const { status } = await api.client.get(runId)
    return json({ runId, status }, created ? 201 : 200, locationOf(runId))
  },
}

const eraseRun: Route = {
  method: 'DELETE',
  path: '/runs/{id}',
  operationId: 'eraseRun',
  needs: 'operate',
  summary:
    'Remove everything that is stored of a run that has ended: its input, output, history, signals, tasks and payloads.',
  responses: { 204: { description: 'Nothing is left of it, and its id is free.' } },
  problems: ['unknown-run', 'conflict'],
  async handle(c, api) {
    await api.client.erase(c.req.param('id')!)
    return new Response(null, { status: 204 })
  },
}

const eraseTagged: Route = {
  method: 'DELETE',
  path: '/runs',
  operationId: 'eraseTagged',
  needs: 'operate',
  summary: 'Erase all runs with a tag, however many: starts a run that does it, whose output says how many there were.',
  takesKey: true,
  query: {
    tag: { description: 'Which runs. It has to be given.' },
    workflow: { description: 'Only runs of this workflow.' },
    terminate: {
      description:
        '`true` ends runs that have not ended and erases them too, a quarter of an hour later. Otherwise they stay.',
      schema: { type: 'boolean' },
    },
  },
  responses: { 202: { description: 'The run that erases them.', schema: ref('Started') } },
  problems: ['invalid-input'],
  async handle(c, api) {
    const { tag, workflow, terminate, ...unknown } = c.req.query()
    const checks = new Checks()
    checks.check('query tag', () => checkName("'tag', which says which runs to erase,", tag))
    checks.require(
      'query terminate',
      terminate === undefined || terminate === 'true' || terminate === 'false',
      "must be 'true' or 'false'",
    )
    // Misspelt, it would erase more than was meant.
    for (const name of Object.keys(unknown))
      checks.require(`query ${name}`, false, 'is not known here; known: tag, workflow, terminate')
    checks.throwIfAny()
    const options = { ...(workflow !== undefined && { workflow }), ...(terminate === 'true' && { terminate: true }) }
    const { runId, status } = await api.client.eraseTagged(tag!, { ...options, ...readKey(c) })
    return json({ runId, status }, 202, locationOf(runId))
  },
}

export const steerRuns = [
  signalRun,
  askRun,
  cancelRun,
  terminateRun,
  retryRun,
  rerunRun,
  wakeRun,
  eraseRun,
  eraseTagged,
]

async function readReason(c: Context, api: Api): Promise<string | undefined> {
  const checks = new Checks()
  const { reason } = readFields(await readJson(c, api.bodyLimit), ['reason'], checks)
  const isGood = reason === undefined || (typeof reason === 'string' && reason.length <= LONGEST_REASON)
  checks.require('$.reason', isGood, `must be a string of at most ${LONGEST_REASON} characters`)
  checks.throwIfAny()
  return reason as string | undefined
}

async function standing(c: Context, api: Api, code: number): Promise<Response> {
  const { runId, status } = await api.client.get(c.req.param('id')!)
  return json({ runId, status }, code)
}
