import { generateKeyPairSync, sign } from 'node:crypto'
import { type FakeServer, fakeServer } from '../../cli/fake-server.ts'

const KEY_ID = 'key-1'
const HOUR_S = 3_600

/** Somewhere to sign in: makes JWTs, and tells whoever asks how to check them. */
export class Issuer implements AsyncDisposable {
  readonly url: string
  private readonly server: FakeServer
  private readonly keys = generateKeyPairSync('rsa', { modulusLength: 2_048 })

  private constructor(server: FakeServer) {
    this.server = server
    this.url = server.url
  }

  static async open(): Promise<Issuer> {
    let issuer: Issuer | undefined
    issuer = new Issuer(await fakeServer(({ request }) => ({ body: JSON.stringify(issuer!.answer(request.url!)) })))
    return issuer
  }

  /** One that is good for an hour, unless its claims say otherwise. */
  token(claims: Record<string, unknown>, key = this.keys.privateKey): string {
    const now = Math.floor(Date.now() / 1_000)
    const parts = [
      { alg: 'RS256', typ: 'JWT', kid: KEY_ID },
      { iss: this.url, sub: 'ada', iat: now - 60, exp: now + HOUR_S, ...claims },
    ]
    const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
    return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`
  }

  private answer(path: string): object {
    if (path.endsWith('/openid-configuration')) return { issuer: this.url, jwks_uri: `${this.url}/keys` }
    return { keys: [{ ...this.keys.publicKey.export({ format: 'jwk' }), kid: KEY_ID, alg: 'RS256', use: 'sig' }] }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]()
  }
}
