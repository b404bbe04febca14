import { Template } from 'aws-cdk-lib/assertions'
import { UserPool } from 'aws-cdk-lib/aws-cognito'
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { describe, expect, it } from 'vitest'
import { ROUTES } from '../../functions/http/app.ts'
import { build, type Synthesised, synthesise } from './synth.ts'

const routesOf = ({ template }: Synthesised) =>
  Object.values(template.findResources('AWS::ApiGatewayV2::Route')).map(
    ({ Properties }) => Properties as { RouteKey: string; AuthorizationType?: string },
  )

describe('the routes of the API', () => {
  const byIam = synthesise()
  const byToken = synthesise((stack) => ({ auth: { token: new Secret(stack, 'Token') } }))
  const byJwt = synthesise((stack) => ({
    auth: { jwt: { issuer: 'https://login.example', jwtAudience: [new UserPool(stack, 'Users').userPoolId] } },
  }))

  it('are those of the app, and one that lets the app answer all else', () => {
    const keys = routesOf(byIam).map(({ RouteKey }) => RouteKey)
    expect(keys.filter((key) => key !== 'HEAD /callbacks/{token}')).toEqual([
      ...ROUTES.map(({ method, path }) => `${method} ${path}`),
      'ANY /{proxy+}',
    ])
  })

  const CALLBACKS = [
    'GET /callbacks/{token}',
    'HEAD /callbacks/{token}',
    'POST /callbacks/{token}',
    'POST /callbacks/{token}/heartbeat',
  ]

  // All the others, /healthz too: an open route would let strangers run a function at the owner's expense.
  it.each([
    ['AWS_IAM', byIam],
    ['CUSTOM', byToken],
    ['JWT', byJwt],
  ])('are all behind an authorizer, except callbacks, whose token is one: %s', (kind, synthesised) => {
    const unguarded = routesOf(synthesised).filter(({ AuthorizationType }) => AuthorizationType !== kind)
    expect(unguarded.map(({ RouteKey, AuthorizationType }) => [RouteKey, AuthorizationType])).toEqual(
      CALLBACKS.map((key) => [key, 'NONE']),
    )
  })

  describe('of callbacks', () => {
    const stageOf = ({ template }: Synthesised) => Object.values(template.findResources('AWS::ApiGatewayV2::Stage'))[0]!
    const publicUrls = ({ template }: Synthesised) =>
      Object.values(template.findResources('AWS::Lambda::Function')).flatMap(({ Properties }) =>
        'OVERWINTER_PUBLIC_URL' in Properties.Environment.Variables
          ? [[Properties.Description, Properties.Environment.Variables.OVERWINTER_PUBLIC_URL]]
          : [],
      )

    it('are throttled apart from the others, and the stage waits for them', () => {
      const stage = stageOf(byIam)
      expect(Object.keys(stage.Properties.RouteSettings)).toEqual(CALLBACKS)
      for (const settings of Object.values(stage.Properties.RouteSettings))
        expect(settings).toEqual({ ThrottlingRateLimit: 50, ThrottlingBurstLimit: 100 })
      const routes = byIam.template.findResources('AWS::ApiGatewayV2::Route')
      const open = Object.keys(routes).filter((id) => CALLBACKS.includes(routes[id]!.Properties.RouteKey))
      expect(stage.DependsOn).toEqual(expect.arrayContaining(open))
    })

    it('are answered by a function of their own, which can neither delete nor start anything', () => {
      const { template } = byIam
      const routes = Object.values(template.findResources('AWS::ApiGatewayV2::Route')).map(
        ({ Properties }) => Properties,
      )
      const integrations = template.findResources('AWS::ApiGatewayV2::Integration')
      const behind = (open: boolean) =>
        new Set(
          routes
            .filter(({ RouteKey }) => CALLBACKS.includes(RouteKey) === open)
            .map(({ Target }) => JSON.stringify(integrations[Target['Fn::Join'][1][1].Ref]!.Properties.IntegrationUri)),
        )
      expect([...behind(true)]).toEqual([expect.stringContaining('WorkflowsCallbacks')])
      expect([...behind(false)]).toEqual([expect.stringContaining('WorkflowsApi')])
      const policies = Object.entries(template.findResources('AWS::IAM::Policy'))
      const [, { Properties }] = policies.find(([id]) => id.startsWith('WorkflowsCallbacksRole'))!
      const actions = Properties.PolicyDocument.Statement.flatMap(({ Action }: { Action: string }) => Action)
      expect(actions.filter((action: string) => !action.startsWith('logs:')).toSorted()).toEqual([
        ...['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:Query', 'dynamodb:UpdateItem'],
        ...['s3:GetObject', 's3:PutObject', 'sqs:SendMessage'],
      ])
    })

    it('have as many functions at a time as was asked for, and none set aside in accounts that have few', () => {
      const reserved = ({ template }: Synthesised) =>
        Object.values(template.findResources('AWS::Lambda::Function')).flatMap(
          ({ Properties }) => Properties.ReservedConcurrentExecutions ?? [],
        )
      expect(reserved(byIam)).toEqual([])
      expect(reserved(synthesise(() => ({ callbacks: { concurrency: 20 } })))).toEqual([20])
      expect(() => build(() => ({ callbacks: { concurrency: 0 } }))).toThrow(
        'callbacks.concurrency is 0, and must be a whole number from 1',
      )
    })

    it('have the limits and the address that were asked for', () => {
      const named = synthesise(() => ({
        callbacks: { url: 'https://ask.example.com', throttle: { rateLimit: 5, burstLimit: 6 } },
      }))
      expect(stageOf(named).Properties.RouteSettings[CALLBACKS[0]!]).toMatchObject({
        ThrottlingRateLimit: 5,
        ThrottlingBurstLimit: 6,
      })
      expect(publicUrls(named)).toEqual([[expect.stringContaining('due runs'), 'https://ask.example.com']])
    })

    it('cannot have an address that is none', () => {
      expect(() => build(() => ({ callbacks: { url: 'ask.example.com' } }))).toThrow(
        /callbacks.url must be the address of the HTTP API, such as https/,
      )
    })

    it('reach the variables of the runner, and of no other function', () => {
      const [api] = Object.keys(byIam.template.findResources('AWS::ApiGatewayV2::Api'))
      expect(publicUrls(byIam)).toEqual([[expect.stringContaining('due runs'), { 'Fn::GetAtt': [api, 'ApiEndpoint'] }]])
    })

    it('are behind the authorizer too where callbacks are off, and links are not made', () => {
      const off = synthesise(() => ({ callbacks: false }))
      expect(routesOf(off).filter(({ AuthorizationType }) => AuthorizationType !== 'AWS_IAM')).toEqual([])
      expect(stageOf(off).Properties.RouteSettings).toBeUndefined()
      expect(publicUrls(off)).toEqual([])
      expect(off.overwinter.functions.Callbacks).toBeUndefined()
    })
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

  it('are named in the access log by what an HTTP API calls them, and paths are not in it', () => {
    const [stage] = Object.values(byIam.template.findResources('AWS::ApiGatewayV2::Stage'))
    const { Format } = stage!.Properties.AccessLogSettings
    expect(JSON.parse(Format)).toMatchObject({
      route: '$context.routeKey',
      status: '$context.status',
      requestId: '$context.requestId',
    })
    expect(Format).not.toMatch(/\$context\.(path|resourcePath)\b/)
  })

  it('have no metrics each, which would cost more than all else at rest', () => {
    for (const { template } of [byIam, synthesise(() => ({ api: 'rest' }))]) {
      const text = JSON.stringify([
        template.findResources('AWS::ApiGatewayV2::Stage'),
        template.findResources('AWS::ApiGateway::Stage'),
      ])
      expect(text).not.toMatch(/"(DetailedMetricsEnabled|MetricsEnabled)":true/)
    }
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
