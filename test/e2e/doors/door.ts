import { OverwinterClient, type TransportOptions } from '../../../sdk/http-client/index.ts'
import { deploy } from '../cdk.ts'
import { urlOnStandIn } from '../deployment.ts'
import { limitedFetch } from '../limited-fetch.ts'

/** Ways into a deployed API. */
export type Door = 'rest' | 'rest-token' | 'http-token' | 'http-jwt'

/** The secret that opens everything behind `-token`. */
export const MASTER = 'the secret that opens everything'.replaceAll(' ', '-')
/** Who JWTs are for. */
export const AUDIENCE = 'shop'

export interface Outputs {
  ApiId: string
  ApiUrl: string
  /** Of `rest`: roles that the construct has granted a part of the API. */
  StartRole: string
  ReadRole: string
  OperateRole: string
  /** Of `-token`: the secret with the token for starting runs. */
  StartToken: string
}

export interface Opened {
  url: string
  outputs: Outputs
  /** Who shows this, or nothing. */
  as(shown?: Pick<TransportOptions, 'token' | 'sign'>): OverwinterClient
  /** What a request with this header is answered with; without one if undefined. */
  get(path: string, authorization?: string): Promise<{ status: number; body: string }>
}

/** Deploys a stack with this door. */
export function open(door: Door, context: Record<string, string> = {}): Opened {
  const outputs = deploy<Outputs>({ app: 'doors/app.ts', stack: `Overwinter-${door}`, context: { door, ...context } })
  const url = urlOnStandIn(outputs)
  return {
    url,
    outputs,
    as: (shown = {}) => new OverwinterClient({ url, fetch: limitedFetch, ...shown }),
    async get(path, authorization) {
      const response = await fetch(`${url}${path}`, { headers: authorization === undefined ? {} : { authorization } })
      return { status: response.status, body: await response.text() }
    },
  }
}

/** The status that a call is answered with. */
export async function statusOf(call: Promise<unknown>): Promise<number> {
  return call.then(
    () => 200,
    (error: { status?: number }) => error.status ?? Promise.reject(error),
  )
}
