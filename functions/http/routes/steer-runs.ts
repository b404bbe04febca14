import type { Context } from 'hono'
import { recordError } from '../../../sdk/base/error-records.ts'
import type { Json } from '../../../sdk/base/json.ts'
import { ownKey } from '../../../sdk/base/own-key.ts'
import { decodeUncoded, encode } from '../../../sdk/base/values.ts'
import { errorToJson } from '../../../sdk/http-api/encode.ts'
import { LONGEST_WAIT_MS } from '../../../sdk/http-api/terms.ts'
import { RequestRefusedError, TimeoutError } from '../../../sdk/index.ts'
import { BODY_PROBLEMS, readJson } from '../body.ts'
import { Checks, heldMs, readKey } from '../checks.ts'
import { startUnder } from '../chosen-id.ts'
import { HttpProblem } from '../problem.ts'
import { bodyOf, queryOf } from '../request.ts'
import { type Api, json, jsonWithPayloads, locationOf, type Route } from '../route.ts'

const shapes = () => import('../../../sdk/http-api/steering.ts')
const Reason = bodyOf(shapes, 'Reason')
const RerunRequest = bodyOf(shapes, 'RerunRequest')
const EraseQuery = queryOf(shapes, 'EraseQuery', 'query ')
const AskQuery = queryOf(() => import('../../../sdk/http-api/run-queries.ts'), 'AskQuery')

const signalRun: Route = {
  method: 'POST',
  path: '/runs/{id}/signals/{name}',
  operationId: 'signalRun',
  needs: 'operate',
  summary:
    'Send a signal; it is kept until the run waits for it. The body is the payload and may be empty. ' +
    'A workflow that declares its signals takes no other.',
  takesKey: true,
  body: 'anything',
  responses: { 202: { description: '`accepted` is false for a repeat.', shape: 'Accepted' } },
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
    'Send a request and wait for what the run replies. The body is the payload and may be empty. ' +
    'Without a reply in time, ask again with the same Idempotency-Key: it counts once.',
  query: AskQuery,
  takesKey: true,
  body: 'anything',
  responses: {
    200: { description: 'What the run replied.', shape: 'Reply' },
    202: {
      description: 'The request is kept; there is no reply yet. To wait on, ask again with this key.',
      shape: 'Asked',
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
    const checks = new Checks()
    const { wait } = await AskQuery.read(c, checks)
    checks.throwIfAny()
    const options = { idempotencyKey, timeout: heldMs(wait) ?? LONGEST_WAIT_MS }
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
  body: Reason,
  responses: { 202: { description: 'Asked.', shape: 'Started' } },
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
  body: Reason,
  responses: { 200: { description: 'Ended.', shape: 'Started' } },
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
  responses: { 202: { description: 'It goes on.', shape: 'Started' } },
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
  responses: { 202: { description: 'Woken.', shape: 'Started' } },
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
    'A new run with the same input that takes over the history up to, and without, the given step; ' +
    'without one it begins at its beginning.',
  takesKey: true,
  body: RerunRequest,
  responses: {
    201: { description: 'Started.', shape: 'Started' },
    200: { description: 'It had been started before, under the same Idempotency-Key.', shape: 'Started' },
  },
  problems: ['invalid-input', 'unknown-run', 'conflict', ...BODY_PROBLEMS],
  async handle(c, api) {
    const checks = new Checks()
    const body = await RerunRequest.read(c, api.bodyLimit, checks)
    checks.throwIfAny()
    const options = { ...body, ...readKey(c) }
    const { runId, created } = await startUnder(c, api, body.id, () => api.client.rerun(c.req.param('id')!, options))
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
    'Remove everything that is stored of a run that has ended: its input, output, history, signals, ' +
    'tasks and payloads.',
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
  query: EraseQuery,
  responses: { 202: { description: 'The run that erases them.', shape: 'Started' } },
  problems: ['invalid-input'],
  async handle(c, api) {
    const checks = new Checks()
    const { tag, workflow, terminate } = await EraseQuery.read(c, checks)
    checks.throwIfAny()
    const options = { ...(workflow !== undefined && { workflow }), ...(terminate === 'true' && { terminate: true }) }
    const { runId, status } = await api.client.eraseTagged(tag, { ...options, ...readKey(c) })
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
  const { reason } = await Reason.read(c, api.bodyLimit, checks)
  checks.throwIfAny()
  return reason
}

async function standing(c: Context, api: Api, code: number): Promise<Response> {
  const { runId, status } = await api.client.get(c.req.param('id')!)
  return json({ runId, status }, code)
}
