import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { TrieRouter } from 'hono/router/trie-router'
import { isRunId } from '../../sdk/base/names.ts'
import type { EventMapping } from '../../sdk/events/mapping.ts'
import { type Client, RunNotFoundError, type RunView } from '../../sdk/index.ts'
import type { LogSink } from '../../sdk/ports/world.ts'
import type { Permission } from '../../sdk/tasks/tokens.ts'
import { Workers } from '../../sdk/tasks/workers.ts'
import { consoleLog } from '../../sdk/worlds/system.ts'
import { askedRun } from './asked-run.ts'
import { DEFAULT_BODY_LIMIT } from './body.ts'
import type { openapiOf } from './openapi.ts'
import { letIn } from './permission.ts'
import { HttpProblem } from './problem.ts'
import { problemOf } from './problem-of.ts'
import type { Api, Route, WorkerApi } from './route.ts'
import { about } from './routes/about.ts'
import { callbacks, formerListCallbacks } from './routes/callbacks.ts'
import { definitions } from './routes/definitions.ts'
import { incidents } from './routes/incidents.ts'
import { limits } from './routes/limits.ts'
import { overseeWorkers } from './routes/oversee-workers.ts'
import { pauses } from './routes/pauses.ts'
import { readHistory } from './routes/read-history.ts'
import { readRuns } from './routes/read-runs.ts'
import { schedules } from './routes/schedules.ts'
import { startRun } from './routes/start-run.ts'
import { steerRuns } from './routes/steer-runs.ts'
import { forWorkers } from './routes/workers/index.ts'

export interface AppOptions {
  client: Client
  /**
   * Says which requests may come in; all unless given. See `bearer`. `true` may do everything. A caller that
   * it refuses may still show a token with scopes that the API has made. `env`: what the platform says of the
   * request.
   */
  authorize?: (request: Request, env: unknown) => boolean | Permission | Promise<boolean | Permission>
  /** IAM has decided who may call which path, before the app is asked. */
  iamDecides?: boolean
  /** In bytes. Default 5 MiB. */
  bodyLimit?: number
  /** Shows the stack traces of errors in runs. Off by default: they tell strangers about the code. */
  exposeStacks?: boolean
  /** A token for workers that the environment gives, beside those that the API makes. */
  workerToken?: string
  /** On AWS workers have an address of their own. */
  withoutWorkers?: boolean
  /** Routes that are not there on AWS, and what they need. */
  local?: LocalRoutes
  /** Tells browsers which pages of other origins may call, where nothing in front of the app does. */
  browsers?: MiddlewareHandler
  /** Gets errors that are no answer to a request. */
  log?: LogSink
  /** Where the lines that a run has logged can be read. */
  logsOf?: (run: RunView) => string
}

/** Routes of the local server. Without them, what they come with is not loaded. */
export interface LocalRoutes {
  routes: readonly Route[]
  /** What `POST /events` knows by name. */
  mappings: readonly EventMapping[]
}

/** What is there on AWS too. */
export const ROUTES: readonly Route[] = [
  startRun,
  ...readRuns,
  ...readHistory,
  ...steerRuns,
  ...incidents,
  ...limits,
  ...pauses,
  ...callbacks,
  ...schedules,
  ...definitions,
  ...overseeWorkers,
  ...about,
]

/** What older clients ask for. API Gateway hands it over as it does all else that it has no route for. */
export const FORMER_ROUTES: readonly Route[] = [formerListCallbacks]

/** The HTTP API, the same on Lambda and in the local server. */
export function createApp(options: AppOptions): Hono {
  const { client, authorize, bodyLimit = DEFAULT_BODY_LIMIT, exposeStacks = false, log = consoleLog } = options
  const ours = options.withoutWorkers ? [] : forWorkers
  const former = options.iamDecides ? FORMER_ROUTES.map(refusedByPath) : FORMER_ROUTES
  const routes = [...ROUTES, ...former, ...(options.local?.routes ?? [])]
  const workers = new Workers(client.world, options.workerToken)
  let document: Promise<object> | undefined
  const api: Api = {
    ...(options.logsOf && { logsOf: options.logsOf }),
    client,
    workers,
    clock: client.world.clock,
    bodyLimit,
    exposeStacks,
    openapi: () => (document ??= documentOf([...routes, ...ours], authorize !== undefined)),
    mappings: options.local?.mappings ?? [],
  }
  const app = emptyApp([...routes, ...ours], log, () => client.registry.names())
  if (options.browsers) app.use(options.browsers)
  mount(app, routes, api, authorize && ((c, route) => letIn(c, route, api, authorize)))
  mount(app, ours, api)
  return app
}

/** Loaded late: it comes with every shape there is, and most functions are never asked for it. */
async function documentOf(routes: Parameters<typeof openapiOf>[0], isGuarded: boolean): Promise<object> {
  const made = await import('./openapi.ts')
  return made.openapiOf(routes, isGuarded)
}

/** The caller may have been let in by a permission for another route. */
function refusedByPath(route: Route): Route {
  return {
    ...route,
    handle() {
      throw new HttpProblem(
        'forbidden',
        `with IAM, a permission to read opens this path too, so it is closed; ask ${route.replacedBy} instead`,
      )
    },
  }
}

/** What holders of a link need, and nothing else: the token in the path is all that lets them in. */
export function createCallbackApp({
  client,
  bodyLimit = DEFAULT_BODY_LIMIT,
  log = consoleLog,
  browsers,
}: Pick<AppOptions, 'client' | 'bodyLimit' | 'log' | 'browsers'>): Hono {
  const open = ROUTES.filter(({ isCapability }) => isCapability)
  const workers = new Workers(client.world)
  const api: Api = {
    client,
    workers,
    clock: client.world.clock,
    bodyLimit,
    exposeStacks: false,
    openapi: async () => ({}),
    mappings: [],
  }
  const app = emptyApp(open, log, () => [])
  if (browsers) app.use(browsers)
  mount(app, open, api, (c, route) => letIn(c, route, api, () => false))
  return app
}

/** What workers need, and nothing else: the handlers ask for their tokens themselves. */
export function createWorkerApp(api: WorkerApi, log: LogSink): Hono {
  const app = emptyApp(forWorkers, log, () => [])
  mount(app, forWorkers, api)
  return app
}

type Addresses = readonly Pick<Route, 'method' | 'path'>[]

function emptyApp(routes: Addresses, log: LogSink, knownWorkflows: () => string[]): Hono {
  // The fastest of Hono's routers cannot have /definitions/schema.json beside /definitions/{name}.
  const app = new Hono({ router: new TrieRouter() })
  app.notFound((c) => noRoute(c, routes).toResponse())
  app.onError((error, c) => (problemOf(error, knownWorkflows) ?? unexpected(error, c, log)).toResponse())
  return app
}

/** One handler per route and no middleware: Hono then calls the handler itself, without a chain. */
function mount<A>(
  app: Hono,
  routes: readonly Route<A>[],
  api: A,
  guard?: (c: Context, route: Route<A>) => Promise<void>,
): void {
  for (const route of routes) {
    const handle = async (c: Context) => {
      if (guard && !route.isOpen) await guard(c, route)
      // What no run can be called is not looked for: a store has limits of its own for keys.
      const run = askedRun(c, route)
      if (run !== undefined && !isRunId(run)) throw new RunNotFoundError(`no run '${run}'`)
      return route.handle(c, api)
    }
    app.on(route.method, route.path.replaceAll(/\{(\w+)\}/g, ':$1'), handle)
  }
}

/** A path that exists for other methods is told so. */
function noRoute(c: Context, routes: Addresses): HttpProblem {
  const { path, method } = c.req
  const methods = routes
    .filter((route) => new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path))
    .map((route) => route.method)
  if (methods.length === 0) return new HttpProblem('unknown-route', `nothing is at ${path}; see /openapi.json`)
  const allow = methods.flatMap((known) => (known === 'GET' ? ['GET', 'HEAD'] : [known])).join(', ')
  return new HttpProblem('method-not-allowed', `${path} takes ${allow}, not ${method}`, { headers: { allow } })
}

/** The caller learns a number to ask about, and nothing of our insides. */
function unexpected(error: unknown, c: Context, log: LogSink): HttpProblem {
  const errorId = crypto.randomUUID()
  const stack = error instanceof Error ? error.stack : String(error)
  // A reader of logs must not be able to answer callbacks.
  const path = c.req.path.replace(/^(\/callbacks\/)[^/]+/, '$1…')
  log('error', `${c.req.method} ${path} failed: ${error}`, { errorId, stack })
  return new HttpProblem(
    'internal',
    `something unexpected went wrong, and is in the server's log under ${errorId}; look there, or try again`,
  )
}
