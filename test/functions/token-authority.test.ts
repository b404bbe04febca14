import { describe, expect, it } from 'vitest'
import { asPolicy, judge, permissionFrom } from '../../functions/token-authority.ts'
import type { Permission } from '../../sdk/tasks/tokens.ts'

const scoped: Record<string, Permission> = {
  owt_1_reader: { scopes: ['read'] },
  owt_2_shop: { scopes: ['start', 'read'], workflows: ['order', 'a,b "c"'] },
}
const authority = {
  master: 'master',
  granted: { start: 'granted-start', operate: 'granted-operate' },
  tokens: { permissionOf: async (token: string) => scoped[token] },
}
const shown = (token: string) => judge(`Bearer ${token}`, authority)
/** What the API learns of a request with this token. */
const learnt = async (token: string) => {
  const { isAuthorized, context } = await shown(token)
  expect(isAuthorized).toBe(true)
  return permissionFrom({ event: { requestContext: { authorizer: { lambda: context ?? null } } } }, 'token')
}

describe('a bearer token at the gateway', () => {
  it('opens everything if it is the secret', async () => {
    expect(await learnt('master')).toBe(true)
  })

  it('opens one scope if it was made for a grant', async () => {
    expect(await learnt('granted-start')).toEqual({ scopes: ['start'] })
    expect(await learnt('granted-operate')).toEqual({ scopes: ['operate'] })
  })

  it('opens what the API made it for, workflows with any name included', async () => {
    expect(await learnt('owt_1_reader')).toEqual({ scopes: ['read'] })
    expect(await learnt('owt_2_shop')).toEqual(scoped.owt_2_shop)
  })

  it.each(['', 'nonsense', 'masterx', 'owt_3_gone', 'granted-star'])('opens nothing otherwise: %j', async (token) => {
    expect(await shown(token)).toEqual({ isAuthorized: false })
    expect(await judge(undefined, authority)).toEqual({ isAuthorized: false })
    expect(await judge('Basic master', authority)).toEqual({ isAuthorized: false })
  })
})

describe('a bearer token at a REST API', () => {
  const ARN = 'arn:aws:execute-api:eu-west-1:123456789012:abc/api/GET/runs/r1/history'
  const policyFor = async (token: string) => asPolicy(await shown(token), ARN)

  it('opens the same, on every route of the stage, for as long as the policy is kept', async () => {
    for (const token of ['master', 'granted-start', 'owt_1_reader', 'owt_2_shop']) {
      const { policyDocument, context, principalId } = await policyFor(token)
      expect(policyDocument.Statement).toEqual([
        {
          Action: 'execute-api:Invoke',
          Effect: 'Allow',
          Resource: 'arn:aws:execute-api:eu-west-1:123456789012:abc/api/*',
        },
      ])
      // As API Gateway hands it on: beside what it says itself.
      const authorizer = { ...context, principalId, integrationLatency: 7 }
      expect(permissionFrom({ event: { requestContext: { authorizer } } }, 'token')).toEqual(await learnt(token))
    }
  })

  it('opens nothing otherwise, on any route', async () => {
    expect((await policyFor('nonsense')).policyDocument.Statement).toMatchObject([
      { Effect: 'Deny', Resource: expect.stringMatching(/abc\/api\/\*$/) },
    ])
  })
})

describe('the scopes of a JWT', () => {
  const from = (jwt: object | undefined) =>
    permissionFrom({ event: { requestContext: { authorizer: jwt && { jwt } } } }, 'jwt')

  it.each([
    [{ claims: { scope: 'start read' } }, ['start', 'read']],
    [
      { claims: { scope: 'openid overwinter/start overwinter:operate api.read overwinter.read' } },
      ['start', 'operate', 'read'],
    ],
    [{ claims: { scp: '[start read]' } }, ['start', 'read']],
    [{ claims: {}, scopes: ['read'] }, ['read']],
    [{ claims: { scope: 'admin started toString' } }, []],
    [{ claims: {} }, []],
  ])('mean the same words, and those that mean nothing open nothing: %j', (jwt, scopes) => {
    expect(from(jwt)).toEqual({ scopes })
  })

  it('open nothing where there is no JWT', () => {
    expect(from(undefined)).toEqual({ scopes: [] })
    expect(permissionFrom(undefined, 'jwt')).toEqual({ scopes: [] })
  })
})
