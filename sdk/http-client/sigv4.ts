import { Sha256 } from '@smithy/core/checksum'
import { SignatureV4 } from '@smithy/signature-v4'

export interface Credentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

export interface SigV4Options {
  region: string
  /** Default `execute-api`, the service behind API Gateway; `lambda` for a function URL. */
  service?: string
  /** A function is asked for each request, so that credentials which expire can be renewed. */
  credentials: Credentials | (() => Credentials | Promise<Credentials>)
}

/** Signs requests for an API with IAM authorization: `new OverwinterClient({ url, sign: sigv4({ … }) })`. */
export function sigv4({
  region,
  service = 'execute-api',
  credentials,
}: SigV4Options): (request: Request) => Promise<Request> {
  const provider = async () => (typeof credentials === 'function' ? credentials() : credentials)
  const signer = new SignatureV4({ service, region, credentials: provider, sha256: Sha256 })
  return async (request) => {
    const { protocol, hostname, host, pathname, searchParams } = new URL(request.url)
    const body = request.body ? new Uint8Array(await request.clone().arrayBuffer()) : undefined
    const { headers } = await signer.sign({
      method: request.method,
      protocol,
      hostname,
      path: pathname,
      query: Object.fromEntries([...searchParams.keys()].map((name) => [name, searchParams.getAll(name)])),
      headers: { ...Object.fromEntries(request.headers), host },
      body,
    })
    // `fetch` sends the host by itself, and browsers let no code set it.
    const { host: _, ...signed } = headers
    return new Request(request, { headers: signed })
  }
}
