import { Template } from 'aws-cdk-lib/assertions'
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { describe, expect, it } from 'vitest'
import { ROUTES } from '../../functions/http/app.ts'
import { isAllowed, type Statement, textOf } from './iam-rules.ts'
import { build, type Props, synthesise } from './synth.ts'

/** What a role is allowed by a grant, and the whole template. */
function granted(scope: 'Start' | 'Read' | 'Operate', props?: Props) {
  const { stack, overwinter } = build(props)
  overwinter[`grant${scope}`](new Role(stack, 'Shop', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') }))
  const template = Template.fromStack(stack)
  const policies = template.findResources('AWS::IAM::Policy')
  const [id] = Object.keys(policies).filter((name) => name.startsWith('ShopDefaultPolicy'))
  return { template, overwinter, statements: policies[id!]!.Properties.PolicyDocument.Statement as Statement[] }
}
const byToken: Props = (stack) => ({ auth: { token: new Secret(stack, 'Token') } })
const functionFor = (template: Template, what: string) =>
  Object.values(template.findResources('AWS::Lambda::Function')).find(({ Properties }) =>
    Properties.Description.includes(what),
  )!.Properties

/** Ids and names that look like parts of other paths, or have what a run id may have. */
const NAMES = ['x', 'callbacks', 'runs', 'a.b:c@d+e=f~g-h_1', 'schema.json']

describe.each(['http', 'rest'] as const)('a grant with IAM on an API of the kind %s', (api) => {
  it.each(['Start', 'Read', 'Operate'] as const)('allows the routes of its scope, and no others: %s', (scope) => {
    const { statements } = granted(scope, () => ({ api }))
    const [base] = [statements[0]!.Resource].flat().map((arn) => textOf(arn).split('/')[0]!)
    const stage = api === 'http' ? '$default' : 'api'
    const may = (method: string, path: string) =>
      isAllowed(statements, 'execute-api:Invoke', `${base}/${stage}/${method}${path}`)
    expect(ROUTES.some(({ needs }) => needs === scope.toLowerCase())).toBe(true)
    for (const { method, path, needs } of ROUTES)
      for (const name of NAMES) {
        const asked = path.replaceAll(/\{\w+\}/g, name)
        // A name that is spelt like another route of the same method is that route.
        const isOther = ROUTES.some((other) => other.method === method && other.path === asked && other.path !== path)
        if (!isOther)
          expect([scope, method, asked, may(method, asked)]).toEqual([
            scope,
            method,
            asked,
            needs === scope.toLowerCase(),
          ])
      }
  })

  it.each(['Start', 'Read', 'Operate'] as const)('names its own API, and nothing beside calls: %s', (scope) => {
    const { statements } = granted(scope, () => ({ api }))
    expect(statements).toEqual([expect.objectContaining({ Action: 'execute-api:Invoke', Effect: 'Allow' })])
    for (const arn of [statements[0]!.Resource].flat())
      expect(textOf(arn)).toMatch(/^arn:aws:execute-api:eu-north-1:123456789012:Workflows\w*Api\w+\//)
  })
})

describe('a grant with a token', () => {
  it('hands out a token that opens its scope, not the one that opens everything', () => {
    const { template, statements } = granted('Start', byToken)
    const secrets = Object.keys(template.findResources('AWS::SecretsManager::Secret'))
    const [own] = secrets.filter((id) => id.includes('StartToken'))
    expect(secrets).toHaveLength(2)
    expect(statements.map(({ Resource }) => Resource)).toEqual([{ Ref: own }])
    expect(functionFor(template, 'bearer tokens').Environment.Variables.OVERWINTER_START_SECRET).toEqual({ Ref: own })
    expect(functionFor(template, 'bearer tokens').Environment.Variables.OVERWINTER_READ_SECRET).toBeUndefined()
  })

  it('is the same secret for every grantee, and created on first use', () => {
    const { stack, overwinter } = build(byToken)
    expect(overwinter.grants.tokenFor('read')).toBe(overwinter.grants.tokenFor('read'))
    expect(Object.keys(Template.fromStack(stack).findResources('AWS::SecretsManager::Secret'))).toHaveLength(2)
    expect(Object.keys(synthesise(byToken).template.findResources('AWS::SecretsManager::Secret'))).toHaveLength(1)
  })
})

describe('with JWTs', () => {
  const jwt = { issuer: 'https://login.example', jwtAudience: ['shop'] }

  it('nothing can be granted: the issuer of the tokens decides', () => {
    expect(() => granted('Operate', () => ({ auth: { jwt } }))).toThrow(/with JWTs, their issuer decides/)
  })

  it('scopes count where that is asked for', () => {
    const scopesOf = (props: Props) =>
      functionFor(synthesise(props).template, 'The HTTP API').Environment.Variables.OVERWINTER_SCOPES
    expect(scopesOf(() => ({ auth: { jwt: { ...jwt, scopes: true } } }))).toBe('jwt')
    expect(scopesOf(() => ({ auth: { jwt } }))).toBeUndefined()
    expect(scopesOf(byToken)).toBe('token')
    expect(scopesOf(() => ({}))).toBe('iam')
  })
})
