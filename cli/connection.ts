import type { TransportOptions } from '../sdk/http-client/index.ts'

export interface ConnectionOptions {
  url?: string
  token?: string
  profile?: string
}

const USUAL_PORT = 4400
/** The server's address unless another one is given. */
export const USUAL_URL = `http://localhost:${USUAL_PORT}`

const API_GATEWAY = /\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?$/

/** The API's address and credentials: the dev server unless given. */
export function connectionOf({ url, token, profile }: ConnectionOptions): TransportOptions {
  const { OVERWINTER_URL, OVERWINTER_TOKEN, PORT } = process.env
  const target = url ?? OVERWINTER_URL ?? `http://localhost:${PORT || USUAL_PORT}`
  const bearer = token ?? OVERWINTER_TOKEN
  if (bearer !== undefined) return { url: target, token: bearer }
  const region = regionOf(target)
  // Behind a custom domain, only the profile shows that IAM needs a signature.
  if (region === undefined && profile === undefined) return { url: target }
  let signing: Promise<NonNullable<TransportOptions['sign']>> | undefined
  return { url: target, sign: async (request) => (await (signing ??= signerFor(region, profile)))(request) }
}

/** The AWS region that an address of API Gateway names. */
export function regionOf(url: string): string | undefined {
  return API_GATEWAY.exec(hostOf(url))?.[1]
}

/** A deployment requires IAM by default. Loaded on demand: the dev server needs none of it. */
async function signerFor(
  region: string | undefined,
  profile: string | undefined,
): Promise<NonNullable<TransportOptions['sign']>> {
  const [{ sigv4 }, { AwsAccount }] = await Promise.all([
    import('../sdk/http-client/sigv4.ts'),
    import('./aws-account.ts'),
  ])
  const account = new AwsAccount({ profile, region })
  return sigv4({ region: await account.region(), credentials: () => account.credentials() })
}

export function isLocal(url: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostOf(url))
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : ''
}
