import { AwsClient } from 'aws4fetch'

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
  // Signing keys hold for a day.
  const cache = new Map<string, ArrayBuffer>()
  return async (request) => {
    const { accessKeyId, secretAccessKey, sessionToken } =
      typeof credentials === 'function' ? await credentials() : credentials
    return new AwsClient({ accessKeyId, secretAccessKey, sessionToken, region, service, cache }).sign(request)
  }
}
