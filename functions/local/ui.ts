import { createHash } from 'node:crypto'
import type { UiConfig } from '../../dashboard/config.ts'
import { uiFiles } from '../../dashboard/files.ts'

/** Nothing from elsewhere, nothing inline, nobody's frame: what is in a payload can at most be text. */
const CONTENT_SECURITY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

const HEADERS = {
  'content-security-policy': CONTENT_SECURITY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
}

const ROOT = '/ui/'
const FOR_GOOD = 'public, max-age=31536000, immutable'

/**
 * The dashboard for a path, and undefined for what is not its own. Whatever is under `/ui/` and no file is a view of the page.
 * `known`: the etags that the browser has.
 */
export async function uiResponse(path: string, config: UiConfig, known?: string | null): Promise<Response | undefined> {
  if (path === '/ui') return new Response(null, { status: 308, headers: { ...HEADERS, location: ROOT } })
  if (!path.startsWith(ROOT)) return undefined
  const name = path.slice(ROOT.length)
  if (name === 'config.json') return Response.json(config, { headers: { ...HEADERS, 'cache-control': 'no-store' } })
  const files = await uiFiles()
  const file = files.get(name)
  // A script of an earlier build is gone, and not a view.
  if (!file && /^[^/]+\.(js|css|svg|map)$/.test(name)) return new Response(`nothing is at ${path}`, { status: 404, headers: HEADERS })
  const { type, body } = file ?? files.get('index.html')!
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  const headers = { ...HEADERS, 'content-type': type, etag, 'cache-control': /-[0-9a-f]{12}\./.test(name) ? FOR_GOOD : 'no-cache' }
  if (known?.split(/,\s*/).includes(etag)) return new Response(null, { status: 304, headers })
  return new Response(body, { headers })
}

/** People who open the address of the server want to see something; programs get what they always got. */
export function leadsToUi(request: Request): boolean {
  return request.method === 'GET' && new URL(request.url).pathname === '/' && (request.headers.get('accept') ?? '').includes('text/html')
}
