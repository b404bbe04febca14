import { Template } from 'aws-cdk-lib/assertions'
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { describe, expect, it } from 'vitest'
import { ROUTES } from '../../functions/http/app.ts'
import { build, type Props, synthesise } from './synth.ts'

type Statement = { Action: string | string[]; Resource: unknown }

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
  Object.values(template.findResources('AWS::Lambda::Function')).find(({ Properties }) => Properties.Description.includes(what))!.Properties

describe('a grant with IAM', () => {
  it.each(['Start', 'Read', 'Operate'] as const)('allows the routes of its scope, and no others: %s', (scope) => {
    const { statements } = granted(scope)
    expect(statements).toHaveLength(1)
    expect(statements[0]!.Action).toBe('execute-api:Invoke')
    const arns = [statements[0]!.Resource].flat().map((arn) => JSON.stringify(arn))
    const own = ROUTES.filter(({ needs }) => needs === scope.toLowerCase()).map(({ method, path }) => `/*/${method}${path.replaceAll(/\{\w+\}/g, '*')}"`)
    expect(own.length).toBeGreaterThan(0)
    expect(own.every((end) => arns.some((arn) => arn.includes(end)))).toBe(true)
    expect(arns).toHaveLength(new Set(own).size)
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

  it('is the same for everybody, and a secret is made when it is needed', () => {
    const { stack, overwinter } = build(byToken)
    expect(overwinter.grants.tokenFor('read')).toBe(overwinter.grants.tokenFor('read'))
    expect(Object.keys(Template.fromStack(stack).findResources('AWS::SecretsManager::Secret'))).toHaveLength(2)
    expect(Object.keys(synthesise(byToken).template.findResources('AWS::SecretsManager::Secret'))).toHaveLength(1)
  })
})

describe('with JWTs', () => {
  const jwt = { issuer: 'https://login.example', jwtAudience: ['shop'] }

  it('nothing can be granted: whoever issues them decides', () => {
    expect(() => granted('Operate', () => ({ auth: { jwt } }))).toThrow(/with JWTs, whoever issues them decides/)
  })

  it('scopes count where that is asked for', () => {
    const scopesOf = (props: Props) => functionFor(synthesise(props).template, 'The HTTP API').Environment.Variables.OVERWINTER_SCOPES
    expect(scopesOf(() => ({ auth: { jwt: { ...jwt, scopes: true } } }))).toBe('jwt')
    expect(scopesOf(() => ({ auth: { jwt } }))).toBeUndefined()
    expect(scopesOf(byToken)).toBe('token')
    expect(scopesOf(() => ({}))).toBeUndefined()
  })
})
