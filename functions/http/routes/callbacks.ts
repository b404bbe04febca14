import type { Context } from 'hono'
import { decodeUncoded } from '../../../sdk/base/values.ts'
import type { Answer, Asked } from '../../../sdk/client/callbacks.ts'
import { callbackToJson } from '../../../sdk/http-api/encode.ts'
import { ConflictError, InvalidInputError, type RawRequest } from '../../../sdk/index.ts'
import { jsonOf, readBytes, tooLarge } from '../body.ts'
import { resultOf, shapeOf } from '../callback-page/fields.ts'
import { messagePage, type QuestionPage, questionPage } from '../callback-page/page.ts'
import { Checks, readKey } from '../checks.ts'
import { type Form, isForm, readForm } from '../form.ts'
import { problemOf } from '../problem-of.ts'
import { bodyOf, queryOf } from '../request.ts'
import { type Api, json, type Route } from '../route.ts'

/** A webhook is small, and this one is kept in a journal. */
const RAW_LIMIT = 1024 * 1024
/**
 * Holders of a link are strangers, and a schema that finds each of a million items wrong takes the memory of
 * the function.
 */
const RESULT_LIMIT = 256 * 1024

const shapes = () => import('../../../sdk/http-api/callbacks.ts')
const CallbackRequest = bodyOf(shapes, 'CallbackRequest')
const CallbacksQuery = queryOf(shapes, 'CallbacksQuery')

const PAGE = { type: 'text/html' }

/** Changes nothing: scanners of mails follow links too. */
const showCallback: Route = {
  method: 'GET',
  path: '/callbacks/{token}',
  operationId: 'showCallback',
  needs: 'settle',
  summary: 'A page for people on which they can answer what a run asks. Looking at it changes nothing.',
  responses: {
    200: { description: 'The question, and a form for the answer.', ...PAGE },
    400: { description: 'The link is not complete, as a page.', ...PAGE },
    404: { description: 'The link leads nowhere, as a page.', ...PAGE },
    410: { description: 'It was answered, or it is too late, as a page that says so.', ...PAGE },
  },
  problems: [],
  isCapability: true,
  async handle(c, api) {
    try {
      return questionPage(await toShow(await api.client.callbacks.look(c.req.param('token')!)))
    } catch (error) {
      // To a visitor, whatever is over is over.
      return refusalPage(error, error instanceof ConflictError ? 410 : undefined)
    }
  },
}

const settleCallback: Route = {
  method: 'POST',
  path: '/callbacks/{token}',
  operationId: 'settleCallback',
  needs: 'settle',
  summary:
    'Complete or fail what a run waits for outside. Under an Idempotency-Key the same result again ' +
    'is no conflict. A form is answered with a page; a callback made with `raw` takes any body as it ' +
    'comes, and the same body again.',
  takesKey: true,
  body: CallbackRequest,
  alsoTakes: ['application/x-www-form-urlencoded', 'multipart/form-data', '*/*'],
  responses: { 202: { description: 'Accepted.', shape: 'Accepted' } },
  pages: [202, 400, 404, 409, 410, 413, 422],
  problems: [
    'invalid-input',
    'malformed-json',
    'unknown-run',
    'conflict',
    'gone',
    'misfit',
    'too-large',
    'unsupported-media-type',
  ],
  isCapability: true,
  async handle(c, api) {
    const settle: Settle = (read) => api.client.callbacks.settle(c.req.param('token')!, read)
    const body = await readBytes(c, api.bodyLimit)
    if (isForm(body, c.req.header('content-type'))) return settleByForm(c, body, settle)
    await settle((asked) => (asked.isRaw ? rawAnswer(c, body) : jsonAnswer(c, body)))
    return json({ accepted: true }, 202)
  },
}

const heartbeatCallback: Route = {
  method: 'POST',
  path: '/callbacks/{token}/heartbeat',
  operationId: 'heartbeatCallback',
  needs: 'settle',
  summary: 'A sign of life from a party that is about to complete a callback that has a heartbeatTimeout.',
  takesKey: true,
  responses: { 202: { description: 'Noted.', shape: 'Accepted' } },
  problems: ['invalid-input', 'unknown-run', 'conflict', 'gone'],
  isCapability: true,
  async handle(c, api) {
    await api.client.heartbeatCallback(c.req.param('token')!)
    return json({ accepted: true }, 202)
  },
}

/**
 * A token is a right to answer, so a permission to read does not open this. That is why it is not under
 * `/runs/`.
 */
const listCallbacks: Route = {
  method: 'GET',
  path: '/callbacks',
  operationId: 'listCallbacks',
  needs: 'operate',
  summary: 'The callbacks of a run that can be answered now, each with its token.',
  query: CallbacksQuery,
  responses: { 200: { description: 'In the order in which the run asked.', shape: 'Callbacks' } },
  problems: ['invalid-input', 'unknown-run'],
  handle(c, api) {
    const id = c.req.query('run')
    if (id === undefined) throw new InvalidInputError('say which run: GET /callbacks?run=<id>')
    return openCallbacks(id, api)
  },
}

/** Where the list was in 0.1.0. */
export const formerListCallbacks: Route = {
  ...listCallbacks,
  path: '/runs/{id}/callbacks',
  operationId: 'listCallbacksOfRun',
  replacedBy: 'GET /callbacks?run=<id>',
  query: undefined,
  handle: (c, api) => openCallbacks(c.req.param('id')!, api),
}

async function openCallbacks(runId: string, api: Api): Promise<Response> {
  return json({ callbacks: (await api.client.listCallbacks(runId)).map(callbackToJson) })
}

export const callbacks: readonly Route[] = [listCallbacks, showCallback, settleCallback, heartbeatCallback]

async function toShow(asked: Asked): Promise<QuestionPage> {
  const terms = await asked.terms()
  const { workflow, name, until } = asked
  return { workflow, name, until, question: terms?.question, shape: asked.isRaw ? undefined : shapeOf(terms?.schema) }
}

type Settle = (read: (asked: Asked) => Answer | Promise<Answer>) => Promise<void>

/**
 * People get a page; a service that posts a form to a raw callback does not. A double click sends the form twice: that
 * says the same thing again.
 */
async function settleByForm(c: Context, body: Uint8Array, settle: Settle): Promise<Response> {
  let shown: QuestionPage | undefined
  let filledIn: Form | undefined
  let isRaw = false
  try {
    await settle(async (asked) => {
      isRaw = asked.isRaw
      if (isRaw) return rawAnswer(c, body)
      filledIn = await readForm(body, c.req.header('content-type')!)
      shown = await toShow(asked)
      return { result: resultOf(shown.shape!, filledIn), isRepeat: true }
    })
  } catch (error) {
    if (isRaw) throw error
    const problem = problemOf(error, () => [])
    if (problem?.kind === 'misfit' && shown && filledIn)
      return questionPage(shown, { filledIn, problems: problem.extras.problems ?? [] })
    return refusalPage(error)
  }
  return isRaw
    ? json({ accepted: true }, 202)
    : messagePage(202, 'Thank you', 'Your answer has been received. You can close this page.')
}

const REFUSALS: Record<string, string> = {
  'unknown-run': 'This link leads nowhere',
  'invalid-input': 'This cannot be read',
  conflict: 'This was answered before',
  gone: 'It is too late',
  'too-large': 'This is too much',
}

/** Errors of ours, and what will pass, are not for people to read. */
function refusalPage(error: unknown, status?: number): Response {
  const problem = problemOf(error, () => [])
  const title = problem && REFUSALS[problem.kind]
  if (!problem || title === undefined) throw error
  return messagePage(status ?? problem.status, title, problem.message)
}

function rawAnswer(c: Context, body: Uint8Array): Answer {
  if (body.length > RAW_LIMIT) throw tooLarge(RAW_LIMIT)
  return { result: { headers: c.req.header(), ...textOf(body) } satisfies RawRequest, isRepeat: true }
}

function textOf(body: Uint8Array): Omit<RawRequest, 'headers'> {
  try {
    return { body: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body) }
  } catch {
    return { body: Buffer.from(body).toString('base64'), isBase64: true }
  }
}

async function jsonAnswer(c: Context, bytes: Uint8Array): Promise<Answer> {
  if (bytes.length > RESULT_LIMIT) throw tooLarge(RESULT_LIMIT)
  const body = jsonOf(new TextDecoder().decode(bytes), c.req.header('content-type'))
  const checks = new Checks()
  const fields = await CallbackRequest.check(body, checks)
  checks.require('$', fields.result === undefined || fields.error === undefined, 'give result or error, not both')
  checks.throwIfAny()
  const error = fields.error && errorFrom(fields.error)
  const isRepeat = readKey(c).idempotencyKey !== undefined
  return error ? { error, isRepeat } : { result: decodeUncoded(fields.result), isRepeat }
}

function errorFrom({ name, message, code }: { message: string; name?: string; code?: string | number }): Error {
  const error = new Error(message)
  // Where we read it is not where it happened.
  error.stack = undefined
  return Object.assign(error, { ...(name !== undefined && { name }), ...(code !== undefined && { code }) })
}
