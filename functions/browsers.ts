import type { MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'

/** Which pages of other origins may call, as the construct writes it: its option `cors`. */
export interface AllowedBrowsers {
  allowOrigins?: string[]
  allowMethods?: string[]
  allowHeaders?: string[]
  exposeHeaders?: string[]
  allowCredentials?: boolean
  /** In seconds. */
  maxAge?: number
}

/** Does what an HTTP API does by itself: tells browsers which origins may call. */
export function allowBrowsers(text: string): MiddlewareHandler {
  const {
    allowOrigins = [],
    allowMethods = [],
    allowHeaders,
    exposeHeaders,
    allowCredentials,
    maxAge,
  } = JSON.parse(text) as AllowedBrowsers
  return cors({
    origin: allowOrigins.includes('*') ? '*' : allowOrigins,
    allowMethods,
    // Without a list, Hono would allow all headers.
    allowHeaders: allowHeaders ?? ['content-type'],
    exposeHeaders,
    credentials: allowCredentials,
    maxAge,
  })
}
