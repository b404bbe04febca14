import type { Context } from 'hono'
import type { Route } from './route.ts'

/** The id of the run that a request is about; undefined for one that is about no run, or does not say which. */
export function askedRun(c: Context, { path }: Pick<Route, 'path'>): string | undefined {
  return path.startsWith('/runs/{id}') ? c.req.param('id') : path === '/callbacks' ? c.req.query('run') : undefined
}
