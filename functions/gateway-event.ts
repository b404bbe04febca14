/** What API Gateway says of a request, as far as these functions go by it: payload format 2.0 of an HTTP API, or 1.0 of a REST API. */
export interface GatewayEvent {
  /** 2.0: decoded, whatever its name says. */
  rawPath?: string
  /** 2.0: the route that API Gateway took it for, and so whose authorizer has let it in: `GET /callbacks/{token}`. */
  routeKey?: string
  /** 1.0: as it came, with the base path of a domain of one's own, but without the stage. */
  path?: string
  /** 1.0: the same as `routeKey`, without the method. */
  resource?: string
  /** 1.0: `path` is what the caller has asked for, with stage or base path. */
  requestContext?: { path?: string }
}

/** The path of the route that a request was taken for: `/callbacks/{token}`. */
export function routeOf({ routeKey, resource }: GatewayEvent): string | undefined {
  return resource ?? routeKey?.slice(routeKey.indexOf(' ') + 1)
}

interface Address {
  /** As the app knows it. */
  path: string
  /** What comes before it, in a REST API: `/api`. */
  base?: string
}

/** Undefined for a path that is not of the route that API Gateway took it for: whoever let it in meant another one. */
export function addressOf(event: GatewayEvent): Address | undefined {
  if (event.resource === undefined) return { path: event.rawPath ?? '/' }
  const path = withinRoute(event.path ?? '/', event.resource)
  if (path === undefined) return undefined
  const asked = event.requestContext?.path ?? path
  return { path, base: asked.endsWith(path) ? asked.slice(0, -path.length) : '' }
}

const ALL_ELSE = '/{proxy+}'

/** The end of a path, from where it is the route's. What comes before is the base path. */
function withinRoute(path: string, route: string): string | undefined {
  // Its authorizer is that of every route which is not open. Where there is a base path, these are routes that do not exist.
  if (route === ALL_ELSE) return path
  const wanted = route.split('/').slice(1)
  const given = path.split('/').slice(-wanted.length)
  const isTheRoute =
    given.length === wanted.length &&
    wanted.every((part, i) => (part.startsWith('{') ? given[i] !== '' : part === given[i]))
  return isTheRoute ? `/${given.join('/')}` : undefined
}
