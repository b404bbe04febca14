import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { HttpProblem } from '../../functions/http/problem.ts'

const secret = () => randomBytes(24).toString('base64url')

/**
 * Accepts one browser: the one that opened the printed link. This server uses the credentials of the person
 * who started it, and every page and program on the machine can reach it.
 */
export class Guard {
  private readonly hosts: ReadonlySet<string>
  private readonly cookie: { name: string; value: string }
  private key: string | undefined = secret()

  constructor(port: number) {
    this.hosts = new Set([`127.0.0.1:${port}`, `localhost:${port}`])
    // Browsers send cookies to all ports of a host.
    this.cookie = { name: `overwinter-ui-${port}`, value: secret() }
  }

  /** The query of the link. It is accepted once. */
  get query(): string {
    return `?key=${this.key}`
  }

  /** Why a request is refused, if it is. */
  refusal(headers: IncomingHttpHeaders): HttpProblem | undefined {
    const { host = '', origin } = headers
    // A foreign host name indicates DNS rebinding.
    if (!this.hosts.has(host))
      return new HttpProblem(
        'foreign-origin',
        `this server answers on ${[...this.hosts].join(' and ')} only, not as '${host}'`,
      )
    if (origin !== undefined && !this.hosts.has(origin.replace(/^http:\/\//, '')))
      return new HttpProblem('foreign-origin', `this server takes no requests from pages of '${origin}'`)
    const site = headers['sec-fetch-site'] ?? 'none'
    if (site !== 'same-origin' && site !== 'none')
      return new HttpProblem('foreign-origin', 'this server takes no requests from pages of other sites')
    if (!this.hasCookie(headers.cookie))
      return new HttpProblem(
        'unauthorized',
        'open the link that `overwinter ui` has printed; it works once, so start it again if it was used before',
      )
    return undefined
  }

  /**
   * For a request by the link: sets a cookie and sends the browser to the page. The page redirects by itself,
   * so that the cookie is sent wherever the link was clicked.
   */
  admit(url: URL, { host = '' }: IncomingHttpHeaders): Response | undefined {
    const given = url.searchParams.get('key')
    if (given === null || this.key === undefined || !this.hosts.has(host) || !isSame(given, this.key)) return undefined
    this.key = undefined
    const { name, value } = this.cookie
    return page(`<title>Overwinter</title><meta http-equiv="refresh" content="0; url=${url.pathname}">`, 200, {
      'set-cookie': `${name}=${value}; HttpOnly; SameSite=Strict; Path=/`,
    })
  }

  private hasCookie(cookies = ''): boolean {
    const { name, value } = this.cookie
    return cookies
      .split(/;\s*/)
      .some((cookie) => cookie.startsWith(`${name}=`) && isSame(cookie.slice(name.length + 1), value))
  }
}

/** A refusal as a page for a person, and as a problem for a script. */
export function refusalPage(refusal: HttpProblem, { accept = '' }: IncomingHttpHeaders): Response {
  const answer = refusal.toResponse()
  if (answer.status !== 401 || !accept.includes('text/html')) return answer
  return page(`<title>Overwinter: this link was used</title>${USED}`, answer.status)
}

const USED = `<h1>This page is open for one browser only</h1>
<p>The link that <code>overwinter ui</code> prints works once. If this is not the browser that it was opened in,
or its cookies are gone, stop <code>overwinter ui</code> with Ctrl+C, start it again, and open the new link.</p>`

function page(content: string, status: number, headers: Record<string, string> = {}): Response {
  return new Response(
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" ' +
      `content="width=device-width">${content}`,
    {
      status,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': "default-src 'none'",
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        ...headers,
      },
    },
  )
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)]
  return one.length === other.length && timingSafeEqual(one, other)
}
