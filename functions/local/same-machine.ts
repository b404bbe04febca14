import type { IncomingMessage } from 'node:http'
import { HttpProblem } from '../http/problem.ts'

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host)
}

/**
 * Any page in the developer's browser can reach a server on the loopback address. So requests from pages of
 * other sites are refused, and so are requests for a foreign host name, which indicate DNS rebinding.
 */
export function refuseForeign(
  incoming: Pick<IncomingMessage, 'headers'>,
  boundToLoopback: boolean,
): HttpProblem | undefined {
  const { host = '', origin } = incoming.headers
  if (boundToLoopback && !isLoopback(withoutPort(host))) {
    return new HttpProblem('foreign-origin', `this server answers on the loopback address only, not as '${host}'`)
  }
  if (origin === undefined) return undefined
  const site = origin.replace(/^https?:\/\//, '')
  if (site === host || isLoopback(withoutPort(site))) return undefined
  return new HttpProblem('foreign-origin', `this server takes no requests from pages of '${origin}'`)
}

const withoutPort = (host: string) => host.replace(/:\d+$/, '')
