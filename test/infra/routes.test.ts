import { Template } from 'aws-cdk-lib/assertions'
import { UserPool } from 'aws-cdk-lib/aws-cognito'
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { describe, expect, it } from 'vitest'
import { ROUTES } from '../../functions/http/app.ts'
import { build, type Synthesised, synthesise } from './synth.ts'

const routesOf = ({ template }: Synthesised) =>
  Object.values(template.findResources('AWS::ApiGatewayV2::Route')).map(({ Properties }) => Properties as { RouteKey: string; AuthorizationType?: string })

describe('the routes of the API', () => {
  const byIam = synthesise()
  const byToken = synthesise((stack) => ({ auth: { token: new Secret(stack, 'Token') } }))
  const byJwt = synthesise((stack) => ({ auth: { jwt: { issuer: 'https://login.example', jwtAudience: [new UserPool(stack, 'Users').userPoolId] } } }))

  it('are those of the app, and one that lets the app answer all else', () => {
    expect(routesOf(byIam).map(({ RouteKey }) => RouteKey)).toEqual([...ROUTES.map(({ method, path }) => `${method} ${path}`), 'ANY /{proxy+}'])
  })

  // All of them, /healthz too: an open route would let strangers run a function at the owner's expense.
  it.each([
    ['AWS_IAM', byIam],
    ['CUSTOM', byToken],
    ['JWT', byJwt],
  ])('are all behind an authorizer: %s', (kind, synthesised) => {
    const unguarded = routesOf(synthesised).filter(({ AuthorizationType }) => AuthorizationType !== kind)
    expect(unguarded).toEqual([])
  })

  it('are throttled and logged', () => {
    byIam.template.hasResourceProperties('AWS::ApiGatewayV2::Stage', {
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: { ThrottlingRateLimit: 1_000, ThrottlingBurstLimit: 2_000 },
    })
    const [stage] = Object.values(byIam.template.findResources('AWS::ApiGatewayV2::Stage'))
    expect(stage!.Properties.AccessLogSettings.DestinationArn).toBeDefined()
  })

  it('can be granted: who may start runs may do nothing else', () => {
    const { stack, overwinter } = build()
    overwinter.grantStart(new Role(stack, 'Shop', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') }))
    const policies = Template.fromStack(stack).findResources('AWS::IAM::Policy')
    const [id] = Object.keys(policies).filter((name) => name.startsWith('ShopDefaultPolicy'))
    const [statement, ...others] = policies[id!]!.Properties.PolicyDocument.Statement as Record<string, unknown>[]
    expect(others).toEqual([])
    expect(statement).toMatchObject({ Action: 'execute-api:Invoke', Effect: 'Allow' })
    expect(JSON.stringify(statement!.Resource)).toContain('/*/POST/workflows/*/runs')
  })
})
