import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { UiConfig } from '../../dashboard/config.ts'
import { uiFiles } from '../../dashboard/files.ts'
import { ownVersion } from './own-version.ts'

/** Loads nothing from elsewhere, runs nothing inline, and forbids framing: a payload can only ever show as text. */
const CONTENT_SECURITY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

const HEADERS = {
  'content-security-policy': CONTENT_SECURITY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
}

const ROOT = '/ui/'
const LOCAL: UiConfig = {
  name: 'local',
  isLocal: true,
  isReadOnly: false,
  hasChanges: true,
  hasReplay: true,
  version: ownVersion(),
}
const FOR_GOOD = 'public, max-age=31536000, immutable'

/**
 * Serves the dashboard at a path that begins with `/ui`: a path that is no file is a view of the page.
 * `known`: the etags that the browser has.
 */
export async function uiResponse(path: string, config: UiConfig, known?: string): Promise<Response> {
  if (!path.startsWith(ROOT)) return redirectTo(ROOT, 308)
  const name = path.slice(ROOT.length)
  if (name === 'config.json') return Response.json(config, { headers: { ...HEADERS, 'cache-control': 'no-store' } })
  const files = await uiFiles()
  const file = files.get(name)
  // A script of an earlier build is a missing file, not a view.
  if (!file && /^[^/]+\.(js|css|svg|map)$/.test(name))
    return new Response(`nothing is at ${path}`, { status: 404, headers: HEADERS })
  const { type, body } = file ?? files.get('index.html')!
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  const headers = {
    ...HEADERS,
    'content-type': type,
    etag,
    'cache-control': /-[0-9a-f]{12}\./.test(name) ? FOR_GOOD : 'no-cache',
  }
  if (known?.split(/,\s*/).includes(etag)) return new Response(null, { status: 304, headers })
  return new Response(body, { headers })
}

/** The dashboard of a local server; undefined, synchronously, for paths of the API. */
export function localUi({
  url = '',
  method,
  headers,
}: Pick<IncomingMessage, 'url' | 'method' | 'headers'>): Response | Promise<Response> | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined
  const path = url.split('?', 1)[0]!
  // A browser that opens the server's address gets the dashboard; programs get the API's answer.
  if (path === '/') return headers.accept?.includes('text/html') ? redirectTo(ROOT, 302) : undefined
  return path === '/ui' || path.startsWith(ROOT) ? uiResponse(path, LOCAL, headers['if-none-match']) : undefined
}

const redirectTo = (location: string, status: number) =>
  new Response(null, { status, headers: { ...HEADERS, location } })
