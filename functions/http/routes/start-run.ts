import type { Context } from 'hono'
import { type Duration, milliseconds, pointInTime } from '../../../sdk/base/duration.ts'
import type { Json } from '../../../sdk/base/json.ts'
import { checkName } from '../../../sdk/base/names.ts'
import { validate } from '../../../sdk/base/schema.ts'
import { decodeUncoded } from '../../../sdk/base/values.ts'
import { isCoalesced } from '../../../sdk/flow/coalescing/coalescing.ts'
import { type AnyWorkflow, InvalidInputError, type StartOptions } from '../../../sdk/index.ts'
import { readJson } from '../body.ts'
import { Checks, readFields, readKey, readWait, WAIT_PARAM } from '../checks.ts'
import { checkChosenId, startUnder } from '../chosen-id.ts'
import { ref } from '../openapi-schemas.ts'
import { type Api, json, jsonWithPayloads, locationOf, type Route } from '../route.ts'
import { runToJson } from '../run-json.ts'

/** As the client says it; it does not say of which field. */
const SHARED =
  'must not be given: starts of this workflow become one run (its debounce or batch), so none of them can choose its id or its time; an Idempotency-Key tells a repeated start'
const FIELDS = ['input', 'id', 'startAt', 'delay', 'tags', 'version'] as const

export const startRun: Route = {
  method: 'POST',
  path: '/workflows/{name}/runs',
  operationId: 'startRun',
  needs: 'start',
  summary: 'Start a run. The same id, or Idempotency-Key, with the same input again gives the first run.',
  query: WAIT_PARAM,
  takesKey: true,
  body: ref('StartRequest'),
  responses: {
    201: { description: 'Started. With ?wait, the run instead.', schema: { anyOf: [ref('Started'), ref('Run')] } },
    200: {
      description: 'It had been started before. With ?wait, the run instead.',
      schema: { anyOf: [ref('Started'), ref('Run')] },
    },
  },
  problems: ['invalid-input', 'malformed-json', 'unknown-workflow', 'conflict', 'too-large', 'unsupported-media-type'],
  async handle(c, api) {
    const { definition, input, options } = await readStart(c, api)
    const timeout = readWait(c)
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
  const body = await readJson(c, api.bodyLimit)
  const checks = new Checks()
  const {
    input: sent,
    id,
    startAt,
    delay,
    tags,
    version,
  } = readFields(body, FIELDS, checks, ". The workflow's own input goes under 'input'")
  const input = decodeUncoded(sent as Json | undefined)
  if (version !== undefined) {
    checks.require('$.version', Number.isInteger(version), 'must be a whole number')
    if (Number.isInteger(version)) definition = await definitions.toStart(name, version as number)
  }
  checkChosenId(id, checks)
  if (delay !== undefined) checks.check('$.delay', () => milliseconds(delay as Duration, 'delay'))
  if (startAt !== undefined)
    checks.check('$.startAt', () => pointInTime(startAt as string, Number.POSITIVE_INFINITY, 'startAt'))
  checks.require('$.startAt', startAt === undefined || delay === undefined, 'give startAt or delay, not both')
  if (isCoalesced(definition))
    for (const [field, value] of Object.entries({ id, startAt, delay }))
      checks.require(`$.${field}`, value === undefined, SHARED)
  if (tags !== undefined) checkTags(tags, checks)
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

function checkTags(tags: unknown, checks: Checks): void {
  checks.require('$.tags', Array.isArray(tags), 'must be an array of strings')
  if (Array.isArray(tags))
    for (const [i, tag] of tags.entries()) checks.check(`$.tags[${i}]`, () => checkName('a tag', tag))
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
