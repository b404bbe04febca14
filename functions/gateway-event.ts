/**
 * The fields of an API Gateway request that these functions read: payload format 2.0 of an HTTP API, or 1.0
 * of a REST API.
 */
export interface GatewayEvent {
  /** 2.0: decoded, despite its name. */
  rawPath?: string
  /** 2.0: the route that API Gateway matched, whose authorizer has accepted the request: `GET /callbacks/{token}`. */
  routeKey?: string
  /** 1.0: as it was sent, with the base path of a custom domain, but without the stage. */
  path?: string
  /** 1.0: the same as `routeKey`, without the method. */
  resource?: string
  /** 1.0: `path` is the one that the caller requested, with stage or base path. */
  requestContext?: { path?: string }
}

/** The path of the matched route: `/callbacks/{token}`. */
export function routeOf({ routeKey, resource }: GatewayEvent): string | undefined {
  return resource ?? routeKey?.slice(routeKey.indexOf(' ') + 1)
}

interface Address {
  /** The path as the app knows it. */
  path: string
  /** The part before it, in a REST API: `/api`. */
  base?: string
}

/** Undefined if the path does not fit the route that API Gateway matched: its authorizer accepted another route. */
export function addressOf(event: GatewayEvent): Address | undefined {
  if (event.resource === undefined) return { path: event.rawPath ?? '/' }
  const path = withinRoute(event.path ?? '/', event.resource)
  if (path === undefined) return undefined
  const asked = event.requestContext?.path ?? path
  return { path, base: asked.endsWith(path) ? asked.slice(0, -path.length) : '' }
}

const ALL_ELSE = '/{proxy+}'

/** The end of a path that matches the route. The part before it is the base path. */
function withinRoute(path: string, route: string): string | undefined {
  // The default route has the authorizer of every route that is not open. Behind a base path, such routes do
  // not exist.
  if (route === ALL_ELSE) return path
  const wanted = route.split('/').slice(1)
  const given = path.split('/').slice(-wanted.length)
  const isTheRoute =
    given.length === wanted.length &&
    wanted.every((part, i) => (part.startsWith('{') ? given[i] !== '' : part === given[i]))
  return isTheRoute ? `/${given.join('/')}` : undefined
}
