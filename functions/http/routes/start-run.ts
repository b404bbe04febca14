import type { Context } from 'hono'
import { validate } from '../../../sdk/base/schema.ts'
import { decodeUncoded } from '../../../sdk/base/values.ts'
import { isCoalesced } from '../../../sdk/flow/coalescing/coalescing.ts'
import { runToJson } from '../../../sdk/http-api/encode.ts'
import { type AnyWorkflow, InvalidInputError, type StartOptions } from '../../../sdk/index.ts'
import { Checks, heldMs, readKey } from '../checks.ts'
import { startUnder } from '../chosen-id.ts'
import { bodyOf, queryOf } from '../request.ts'
import { type Api, json, jsonWithPayloads, locationOf, type Route } from '../route.ts'

/** As the client says it; it does not say of which field. */
const SHARED =
  'must not be given: starts of this workflow become one run (its debounce or batch), so none of ' +
  'them can choose its id or its time; an Idempotency-Key tells a repeated start'
const StartRequest = bodyOf(() => import('../../../sdk/http-api/starting.ts'), 'StartRequest')
const Waits = queryOf(() => import('../../../sdk/http-api/run-queries.ts'), 'Waits')

export const startRun: Route = {
  method: 'POST',
  path: '/workflows/{name}/runs',
  operationId: 'startRun',
  needs: 'start',
  summary: 'Start a run. The same id, or Idempotency-Key, with the same input again gives the first run.',
  query: Waits,
  takesKey: true,
  body: StartRequest,
  responses: {
    201: { description: 'Started. With ?wait, the run instead.', shape: ['Started', 'Run'] },
    200: {
      description: 'It had been started before. With ?wait, the run instead.',
      shape: ['Started', 'Run'],
    },
  },
  problems: ['invalid-input', 'malformed-json', 'unknown-workflow', 'conflict', 'too-large', 'unsupported-media-type'],
  async handle(c, api) {
    const { definition, input, options } = await readStart(c, api)
    const checks = new Checks()
    const { wait } = await Waits.read(c, checks)
    checks.throwIfAny()
    const timeout = heldMs(wait)
    try {
      if (timeout === undefined) {
        const { runId, status, created } = await startUnder(c, api, options.id, () =>
          api.client.start(definition, input, options),
        )
        return json({ runId, status }, created ? 201 : 200, locationOf(runId))
      }
      const { run, created } = await startUnder(c, api, options.id, () =>
        api.client.startAndSettle(definition, input, { ...options, timeout }),
      )
      return jsonWithPayloads(runToJson(run, api.exposeStacks), api, created ? 201 : 200, locationOf(run.runId))
    } catch (error) {
      throw inTheBody(error)
    }
  },
}

async function readStart(
  c: Context,
  api: Api,
): Promise<{ definition: AnyWorkflow; input: unknown; options: StartOptions }> {
  const name = c.req.param('name')!
  const { definitions } = api.client
  let definition = await definitions.toStart(name)
  const checks = new Checks()
  const { input: sent, id, startAt, delay, tags, version } = await StartRequest.read(c, api.bodyLimit, checks)
  const input = decodeUncoded(sent)
  if (version !== undefined && Number.isInteger(version)) definition = await definitions.toStart(name, version)
  checks.require('$.startAt', startAt === undefined || delay === undefined, 'give startAt or delay, not both')
  if (isCoalesced(definition))
    for (const [field, value] of Object.entries({ id, startAt, delay }))
      checks.require(`$.${field}`, value === undefined, SHARED)
  if (checks.problems.length > 0) {
    const result = await validate(definition.options.input, input)
    if (!result.ok) checks.problems.push(...result.problems.map(underInput))
    checks.throwIfAny()
  }
  return {
    definition,
    input,
    options: { id, startAt, delay, tags, traceparent: c.req.header('traceparent'), ...readKey(c) } as StartOptions,
  }
}

/** The client speaks of the input; the caller sent a body with the input in it. */
function inTheBody(error: unknown): unknown {
  if (!(error instanceof InvalidInputError)) return error
  const [message] = error.message.split('\n')
  // Everything else was checked before, except that a start lies too far ahead: only the client has the clock.
  if (error.problems.length === 0)
    return new InvalidInputError('the request is not valid; see problems', [{ path: '$.startAt', message: message! }])
  return new InvalidInputError(message!, error.problems.map(underInput))
}

const underInput = ({ path, message }: { path: string; message: string }) => ({
  path: path.replace('$', '$.input'),
  message,
})
