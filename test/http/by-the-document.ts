import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { MiddlewareHandler } from 'hono'
import { afterEach, expect } from 'vitest'
import * as app from '../../functions/http/app.ts'
import { openapiOf } from '../../functions/http/openapi.ts'
import * as local from '../../functions/local/serve.ts'
import { PROBLEM_BASE } from '../../sdk/http-api/terms.ts'

/**
 * The app and the local server as tests of HTTP use them: every answer is checked against the OpenAPI
 * document, its status, its content type and its body. A test whose server answered otherwise fails, even if
 * it looked at nothing of that answer.
 */
export function createApp(options: app.AppOptions): ReturnType<typeof app.createApp> {
  return checked(app.createApp(options))
}

export function createCallbackApp(
  options: Parameters<typeof app.createCallbackApp>[0],
): ReturnType<typeof app.createCallbackApp> {
  return checked(app.createCallbackApp(options))
}

/** The server makes its app itself, so its answers are looked at on their way out. */
export function serveLocal(options: local.ServeLocalOptions): Promise<local.LocalServer> {
  const browsers: MiddlewareHandler = async (c, next) => {
    const answered = await options.browsers?.(c, next)
    if (!options.browsers) await next()
    await look(c.req.method, c.req.path, answered ?? c.res)
    return answered ?? undefined
  }
  return local.serveLocal({ ...options, browsers })
}

type App = ReturnType<typeof app.createApp>

function checked(made: App): App {
  const { fetch } = made
  made.fetch = async (request, ...rest) => {
    const response = await fetch(request, ...rest)
    await look(request.method, new URL(request.url).pathname, response)
    return response
  }
  return made
}

/** What was found since the test began, by request. */
const mismatches: string[] = []

afterEach(() => {
  expect(mismatches.splice(0), 'answers that the OpenAPI document does not have').toEqual([])
})

async function look(method: string, path: string, response: Response): Promise<void> {
  mismatches.push(...(await mismatchesOf(method, path, response)))
}

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: object }> }>
}
interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: object }
}

/**
 * One for all apps: what an app leaves out, it does not answer. That it is guarded adds answers and takes
 * none away.
 */
let reading: Promise<{ document: Document; ajv: Ajv2020 }> | undefined
const compiled = new Map<object, ValidateFunction>()

async function read(): Promise<{ document: Document; ajv: Ajv2020 }> {
  const { localRoutes } = await import('../../functions/local/routes.ts')
  const { forWorkers } = await import('../../functions/http/routes/workers/index.ts')
  const routes = [...app.ROUTES, ...app.FORMER_ROUTES, ...localRoutes({} as never), ...forWorkers]
  const document = (await openapiOf(routes as never, true)) as Document
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true })
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  ajv.addFormat('uri', /^[a-z][a-z0-9+.-]*:\S+$/)
  ajv.addSchema(document, 'api')
  return { document, ajv }
}

export async function mismatchesOf(method: string, path: string, response: Response): Promise<string[]> {
  if (method === 'OPTIONS' || method === 'HEAD') return []
  const { document, ajv } = await (reading ??= read())
  const where = `${method} ${path} ${response.status}`
  const type = response.headers.get('content-type')?.split(';')[0] ?? ''
  const body = type.endsWith('json') ? ((await response.clone().json()) as { type?: string }) : undefined
  // The router's word, where this app has no such route.
  if (body?.type === NO_ROUTE || body?.type === NO_METHOD) return problemsOf(ajv, where, PROBLEM, body)
  const answer = operationFor(document, method, path)?.responses[response.status]
  if (!answer) return [`${where}: no such status in the document`]
  const { content = {} } = answer
  if (type === '' && Object.keys(content).length === 0) return []
  const schema = content[type]?.schema
  if (!schema) return [`${where}: no content of type '${type}', but ${Object.keys(content).join(', ') || 'none'}`]
  return body === undefined ? [] : problemsOf(ajv, where, schema, body)
}

function operationFor({ paths }: Document, method: string, path: string): Operation | undefined {
  const parts = path.split('/').map(decoded)
  const fits = (template: string) => {
    const known = template.split('/')
    return (
      known.length === parts.length &&
      known.every((part, i) => (part.startsWith('{') ? parts[i] !== '' : part === parts[i]))
    )
  }
  // A path without parameters comes first, as it does in the router.
  const [found] = Object.keys(paths)
    .filter((template) => paths[template]![method.toLowerCase()] && fits(template))
    .sort((a, b) => a.split('{').length - b.split('{').length)
  return found === undefined ? undefined : paths[found]![method.toLowerCase()]
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const PROBLEM = { $ref: '#/components/schemas/Problem' }
const NO_ROUTE = `${PROBLEM_BASE}unknown-route`
const NO_METHOD = `${PROBLEM_BASE}method-not-allowed`

function problemsOf(ajv: Ajv2020, where: string, schema: object, body: unknown): string[] {
  let validate = compiled.get(schema)
  if (!validate) {
    validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components')))
    compiled.set(schema, validate)
  }
  if (validate(body)) return []
  return validate.errors!.map(
    ({ instancePath, message, params }) => `${where}: ${instancePath || '$'} ${message} ${JSON.stringify(params)}`,
  )
}
