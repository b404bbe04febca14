import type { TransportOptions } from '../sdk/http-client/index.ts'

export interface ConnectionOptions {
  url?: string
  token?: string
  profile?: string
}

const API_GATEWAY = /\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?$/

/** Where the API is and how to come in: the dev server unless told otherwise. */
export function connectionOf({ url, token, profile }: ConnectionOptions): TransportOptions {
  const { OVERWINTER_URL, OVERWINTER_TOKEN, PORT } = process.env
  const target = url ?? OVERWINTER_URL ?? `http://localhost:${PORT || 4400}`
  const bearer = token ?? OVERWINTER_TOKEN
  if (bearer !== undefined) return { url: target, token: bearer }
  const region = API_GATEWAY.exec(hostOf(target))?.[1]
  if (region === undefined) return { url: target }
  let signing: Promise<NonNullable<TransportOptions['sign']>> | undefined
  return { url: target, sign: async (request) => (await (signing ??= signerFor(region, profile)))(request) }
}

/** A deployment asks for IAM unless it was built otherwise. Loaded late: the dev server needs none of it. */
async function signerFor(region: string, profile: string | undefined): Promise<NonNullable<TransportOptions['sign']>> {
  const [{ sigv4 }, { defaultProvider }] = await Promise.all([import('../sdk/http-client/sigv4.ts'), import('@aws-sdk/credential-provider-node')])
  return sigv4({ region, credentials: defaultProvider(profile === undefined ? {} : { profile }) })
}

export function isLocal(url: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostOf(url))
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : ''
}
