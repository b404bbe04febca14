import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { echo } from '../workflows.ts'
import { AUDIENCE, type Opened, open, statusOf } from './door.ts'
import { Issuer } from './issuer.ts'

/**
 * The stand-in checks JWTs as API Gateway does: signature, issuer, audience and times, with keys that it fetches from the issuer. What it cannot show
 * is how long API Gateway keeps those keys. REST APIs know no JWTs, so there is one kind of API here.
 */
describe('a stack with auth: { jwt }', () => {
  let issuer: Issuer
  let door: Opened
  beforeAll(async () => {
    issuer = await Issuer.open()
    door = open('http-jwt', { issuer: issuer.url })
  })
  afterAll(() => issuer[Symbol.asyncDispose]())

  const reach = async (claims: object) => {
    const client = door.as({ token: issuer.token({ aud: AUDIENCE, ...claims }) })
    return {
      start: await statusOf(client.start(echo, { text: 'x' })),
      read: await statusOf(client.list()),
      operate: await statusOf(client.deleteDefinition('none')),
      tokens: await statusOf(client.listTokens()),
    }
  }
  const NOTHING = { start: 403, read: 403, operate: 403, tokens: 403 }

  it.each([
    ['start', { start: 200 }],
    ['openid overwinter/read', { read: 200 }],
    ['start read', { start: 200, read: 200 }],
    ['openid profile', {}],
  ])("lets whoever has signed in do what the JWT's scopes name, and nothing else: %s", async (scope, allowed) => {
    expect(await reach({ scope })).toEqual({ ...NOTHING, ...allowed })
  })

  it('refuses a JWT that is not good, and nobody learns why', async () => {
    const good = { aud: AUDIENCE, scope: 'read' }
    const stranger = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey
    const [head, , signature] = issuer.token(good).split('.')
    const forged = Buffer.from(JSON.stringify({ iss: issuer.url, ...good, sub: 'eve' })).toString('base64url')
    const shown: Record<string, string> = {
      'for somebody else': issuer.token({ ...good, aud: 'another' }),
      expired: issuer.token({ ...good, exp: 1 }),
      'not good yet': issuer.token({ ...good, nbf: 4_102_444_800 }),
      'of another issuer': issuer.token({ ...good, iss: 'https://login.example' }),
      'signed by a stranger': issuer.token(good, stranger),
      changed: `${head}.${forged}.${signature}`,
      'no JWT': 'nonsense',
    }
    const nothing = await door.get('/runs')
    expect(nothing.status).toBe(401)
    for (const [what, token] of Object.entries(shown))
      expect(await door.get('/runs', `Bearer ${token}`), what).toEqual(nothing)
    expect((await door.get('/runs', `Bearer ${issuer.token(good)}`)).status).toBe(200)
  })

  it('leaves callbacks open to whoever has their link', async () => {
    expect((await door.get('/callbacks/nonsense')).status).toBe(400)
  })
})
