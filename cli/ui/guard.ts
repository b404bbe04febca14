import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { HttpProblem } from '../../functions/http/problem.ts'

const secret = () => randomBytes(24).toString('base64url')

/**
 * Lets in one browser, which has come by the link that was printed. Behind this server are the credentials of whoever started it, and every page and every program on the
 * machine can reach it.
 */
export class Guard {
  private readonly hosts: ReadonlySet<string>
  private readonly cookie: { name: string; value: string }
  private key: string | undefined = secret()

  constructor(port: number) {
    this.hosts = new Set([`127.0.0.1:${port}`, `localhost:${port}`])
    // Browsers do not tell ports apart when they send cookies.
    this.cookie = { name: `overwinter-ui-${port}`, value: secret() }
  }

  /** What the link ends with. It opens the door once. */
  get query(): string {
    return `?key=${this.key}`
  }

  /** Why a request is not let in, if it is not. */
  refusal(headers: IncomingHttpHeaders): HttpProblem | undefined {
    const { host = '', origin } = headers
    // A foreign name is how DNS rebinding looks from here.
    if (!this.hosts.has(host)) return new HttpProblem('foreign-origin', `this server answers on ${[...this.hosts].join(' and ')} only, not as '${host}'`)
    if (origin !== undefined && !this.hosts.has(origin.replace(/^http:\/\//, '')))
      return new HttpProblem('foreign-origin', `this server takes no requests from pages of '${origin}'`)
    const site = headers['sec-fetch-site'] ?? 'none'
    if (site !== 'same-origin' && site !== 'none') return new HttpProblem('foreign-origin', 'this server takes no requests from pages of other sites')
    if (!this.hasCookie(headers.cookie))
      return new HttpProblem('unauthorized', 'open the link that `overwinter ui` has printed; it works once, so start it again if it was used before')
    return undefined
  }

  /** For who comes by the link: a cookie, and on to the page. The page goes there by itself, so that the cookie counts wherever the link was clicked. */
  admit(url: URL, { host = '' }: IncomingHttpHeaders): Response | undefined {
    const given = url.searchParams.get('key')
    if (given === null || this.key === undefined || !this.hosts.has(host) || !isSame(given, this.key)) return undefined
    this.key = undefined
    const { name, value } = this.cookie
    return new Response(`<!doctype html><meta charset="utf-8"><title>Overwinter</title><meta http-equiv="refresh" content="0; url=${url.pathname}">`, {
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'set-cookie': `${name}=${value}; HttpOnly; SameSite=Strict; Path=/`,
        'content-security-policy': "default-src 'none'",
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      },
    })
  }

  private hasCookie(cookies = ''): boolean {
    const { name, value } = this.cookie
    return cookies.split(/;\s*/).some((cookie) => cookie.startsWith(`${name}=`) && isSame(cookie.slice(name.length + 1), value))
  }
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)]
  return one.length === other.length && timingSafeEqual(one, other)
}
