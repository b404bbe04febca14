import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { readSecrets, type SecretPlaces } from '../../functions/secret-values.ts'
import { type Asked, type FakeServer, fakeServer } from '../cli/fake-server.ts'

const SECRETS: Record<string, object> = {
  'arn:plain': { SecretString: 'sk_live_1' },
  'arn:fields': { SecretString: JSON.stringify({ user: 'ada', password: 'pa55', port: 5432 }) },
  'arn:binary': { SecretBinary: Buffer.from('bits').toString('base64') },
}
const PARAMETERS: Record<string, string> = { '/feature': 'on', '/licence': 'L-1' }

describe('the secrets of step code', () => {
  let server: FakeServer
  let refusals: string[]

  const answer = ({ request, body }: Asked) => {
    const refusal = refusals.shift()
    if (refusal) return { status: 400, body: JSON.stringify({ __type: refusal, message: 'no' }) }
    const asked = JSON.parse(body) as { SecretId: string; Names: string[] }
    if (request.headers['x-amz-target'] === 'AmazonSSM.GetParameters') {
      return {
        body: JSON.stringify({
          Parameters: asked.Names.filter((name) => name in PARAMETERS).map((Name) => ({
            Name,
            Value: PARAMETERS[Name],
          })),
        }),
      }
    }
    return { body: JSON.stringify(SECRETS[asked.SecretId]) }
  }

  beforeEach(async () => {
    refusals = []
    server = await fakeServer(answer)
    vi.stubEnv('AWS_ENDPOINT_URL', server.url)
    vi.stubEnv('AWS_REGION', 'eu-north-1')
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'A')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'B')
  })
  afterEach(async () => {
    vi.unstubAllEnvs()
    await server[Symbol.asyncDispose]()
  })

  const read = (places: SecretPlaces) => readSecrets(places)

  it('are whole secrets, fields of them and parameters, each asked for once', async () => {
    const values = await read({
      KEY: { secret: 'arn:plain' },
      USER: { secret: 'arn:fields', field: 'user' },
      PASSWORD: { secret: 'arn:fields', field: 'password' },
      PORT: { secret: 'arn:fields', field: 'port' },
      BITS: { secret: 'arn:binary' },
      FEATURE: { parameter: '/feature' },
      LICENCE: { parameter: '/licence' },
    })
    expect(values).toEqual({
      KEY: 'sk_live_1',
      USER: 'ada',
      PASSWORD: 'pa55',
      PORT: '5432',
      BITS: 'bits',
      FEATURE: 'on',
      LICENCE: 'L-1',
    })
    expect(server.asked.map(({ request }) => request.headers['x-amz-target']).toSorted()).toEqual([
      'AmazonSSM.GetParameters',
      'secretsmanager.GetSecretValue',
      'secretsmanager.GetSecretValue',
      'secretsmanager.GetSecretValue',
    ])
    expect(server.asked.find(({ body }) => body.includes('/licence'))!.body).toContain('"WithDecryption":true')
  })

  it('are asked for again when AWS is too busy', async () => {
    refusals = ['ThrottlingException', 'ThrottlingException']
    expect(await read({ FEATURE: { parameter: '/feature' } })).toEqual({ FEATURE: 'on' })
  })

  it('are asked for ten parameters at a time', async () => {
    const names = Array.from({ length: 11 }, (_, i) => `/p${i}`)
    for (const name of names) PARAMETERS[name] = name
    expect(await read(Object.fromEntries(names.map((parameter, i) => [`P${i}`, { parameter }])))).toMatchObject({
      P0: '/p0',
      P10: '/p10',
    })
    expect(server.asked.map(({ body }) => (JSON.parse(body) as { Names: string[] }).Names.length).toSorted()).toEqual([
      1, 10,
    ])
  })

  it('say what is missing or forbidden, and never a value', async () => {
    await expect(read({ X: { secret: 'arn:fields', field: 'pasword' } })).rejects.toThrow(
      "the secret of X has no field 'pasword'; it has user, password, port",
    )
    await expect(read({ X: { secret: 'arn:plain', field: 'password' } })).rejects.toThrow(
      /^the secret of X is not a JSON object, so it has no field 'password'((?!sk_live).)*$/,
    )
    await expect(read({ X: { parameter: '/nowhere' } })).rejects.toThrow("no parameter '/nowhere'")
    refusals = ['AccessDeniedException']
    await expect(read({ X: { secret: 'arn:plain' } })).rejects.toThrow(
      /GetSecretValue of {"SecretId":"arn:plain"} was answered with 400: .*AccessDeniedException/,
    )
  })
})
