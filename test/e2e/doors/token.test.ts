import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { beforeAll, describe, expect, it } from 'vitest'
import type { OverwinterClient } from '../../../sdk/http-client/index.ts'
import { PATIENCE_MS } from '../../outside/patience.ts'
import { byLink, echo } from '../workflows.ts'
import { MASTER, type Opened, open, statusOf } from './door.ts'

describe.each(['http-token', 'rest-token'] as const)('a stack with auth: { token } (%s)', (kind) => {
  let door: Opened
  let owner: OverwinterClient
  beforeAll(() => {
    door = open(kind)
    owner = door.as({ token: MASTER })
  })

  /** What somebody with a token can do. */
  async function reach(token: string): Promise<Record<string, number>> {
    const client = door.as({ token })
    const { runId } = await owner.start(byLink, undefined)
    return {
      start: await statusOf(client.start(echo, { text: 'x' })),
      'start another': await statusOf(client.start(byLink, undefined)),
      read: await statusOf(client.list({ workflow: 'echo' })),
      'read all': await statusOf(client.list()),
      cancel: await statusOf(client.cancel(runId)),
      'make tokens': await statusOf(client.listTokens()),
    }
  }
  const NOTHING = { start: 403, 'start another': 403, read: 403, 'read all': 403, cancel: 403, 'make tokens': 403 }

  it('opens everything to whoever knows the secret', async () => {
    const { run } = await owner.startAndSettle(echo, { text: 'x' }, { timeout: PATIENCE_MS })
    expect(run).toMatchObject({ status: 'completed', output: { text: 'x' } })
    expect(await reach(MASTER)).toEqual(Object.fromEntries(Object.keys(NOTHING).map((part) => [part, 200])))
  })

  it('opens one part to whoever was granted that', async () => {
    const { SecretString } = await new SecretsManagerClient().send(
      new GetSecretValueCommand({ SecretId: door.outputs.StartToken }),
    )
    expect(await reach(SecretString!)).toEqual({ ...NOTHING, start: 200, 'start another': 200 })
  })

  it('opens what a token was made for', async () => {
    const reader = await owner.createToken({ name: 'reader', scopes: ['read'] })
    expect(await reach(reader.token)).toEqual({ ...NOTHING, read: 200, 'read all': 200 })
    const operator = await owner.createToken({ name: 'operator', scopes: ['operate'] })
    expect(await reach(operator.token)).toEqual({ ...NOTHING, cancel: 200 })
    const shop = await owner.createToken({ name: 'shop', scopes: ['start', 'read'], workflows: ['echo'] })
    expect(await reach(shop.token)).toEqual({ ...NOTHING, start: 200, read: 200 })
  })

  it('refuses a token that is wrong, expired, revoked or not one at all, and nobody learns which it is', async () => {
    const expired = await owner.createToken({ name: 'expired', scopes: ['read'], expiresIn: '1ms' })
    const revoked = await owner.createToken({ name: 'revoked', scopes: ['read'] })
    await owner.revokeToken(revoked.id)
    const known = await owner.createToken({ name: 'known', scopes: ['read'] })
    const shown = [
      expired.token,
      revoked.token,
      `${known.token}x`,
      known.token.replace(/.$/, '_'),
      'nonsense',
      `${MASTER}x`,
      MASTER.slice(1),
    ]
    const answers = await Promise.all(shown.map((token) => door.get('/runs', `Bearer ${token}`)))
    expect(answers[0]!.status).toBe(403)
    for (const [i, answer] of answers.entries()) expect(answer, shown[i]).toEqual(answers[0])
    expect(await door.get('/runs', MASTER)).toEqual(answers[0])
    expect(await door.get('/nowhere', 'Bearer nonsense')).toEqual(answers[0])
    expect((await door.get('/runs', `Bearer ${known.token}`)).status).toBe(200)
  })

  it('refuses who shows nothing, whatever they ask for, except callbacks', async () => {
    const first = await door.get('/runs')
    expect(first.status).toBe(401)
    for (const path of ['/runs/nope', '/workflows', '/healthz', '/v1/tokens', '/nowhere'])
      expect(await door.get(path), path).toEqual(first)
    expect((await door.get('/callbacks/nonsense')).status).toBe(400)
  })
})
