import { Match, Template } from 'aws-cdk-lib/assertions'
import { RestApi } from 'aws-cdk-lib/aws-apigateway'
import { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2'
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { describe, expect, it } from 'vitest'
import { ROUTES } from '../../functions/http/app.ts'
import { GATEWAY_TIMEOUT_MS } from '../../sdk/http-api/terms.ts'
import { OPTION_SETS } from './option-sets.ts'
import { build, type Props, type Synthesised, synthesise } from './synth.ts'

const CALLBACKS = [
  'GET /callbacks/{token}',
  'HEAD /callbacks/{token}',
  'POST /callbacks/{token}',
  'POST /callbacks/{token}/heartbeat',
]
const PAGES = { allowOrigins: ['https://shop.example'] }
const byToken: Props = (stack) => ({ api: 'rest', auth: { token: new Secret(stack, 'Token') } })

/** What each method is called, and who it lets in. */
function methodsOf({ template }: Synthesised): Map<string, string> {
  const resources = template.findResources('AWS::ApiGateway::Resource')
  const pathOf = (id: string | undefined): string =>
    id && resources[id] ? `${pathOf(resources[id].Properties.ParentId.Ref)}/${resources[id].Properties.PathPart}` : ''
  const methods = Object.values(template.findResources('AWS::ApiGateway::Method')).map(({ Properties }) => Properties)
  return new Map(
    methods.map(({ HttpMethod, ResourceId, AuthorizationType }) => [
      `${HttpMethod} ${pathOf(ResourceId.Ref)}`,
      AuthorizationType,
    ]),
  )
}
const stageOf = ({ template }: Synthesised) =>
  Object.values(template.findResources('AWS::ApiGateway::Stage'))[0]!.Properties
const functionFor = ({ template }: Synthesised, what: string) =>
  Object.values(template.findResources('AWS::Lambda::Function')).find(({ Properties }) =>
    Properties.Description.includes(what),
  )!.Properties

describe("with api: 'rest'", () => {
  const byIam = synthesise(() => ({ api: 'rest' }))

  it('the routes are those of the app, and one that lets the app answer all else', () => {
    const expected = [
      ...ROUTES.map(({ method, path }) => `${method} ${path}`),
      'HEAD /callbacks/{token}',
      'ANY /{proxy+}',
    ]
    expect([...methodsOf(byIam).keys()].toSorted()).toEqual(expected.toSorted())
    byIam.template.resourceCountIs('AWS::ApiGatewayV2::Api', 0)
  })

  it.each<[string, Props]>([
    ['AWS_IAM', () => ({ api: 'rest' })],
    ['CUSTOM', byToken],
  ])(
    'all are behind an authorizer, except callbacks, and with cors what browsers ask beforehand: %s',
    (kind, props) => {
      const openIn = (synthesised: Synthesised) =>
        [...methodsOf(synthesised)].filter(([, type]) => type !== kind).toSorted()
      const none = (keys: string[]) => keys.toSorted().map((key) => [key, 'NONE'])
      expect(openIn(synthesise(props))).toEqual(none(CALLBACKS))
      expect(openIn(synthesise((stack) => ({ ...props(stack), callbacks: false })))).toEqual([])
      expect(openIn(synthesise((stack) => ({ ...props(stack), cors: PAGES })))).toEqual(
        none([...CALLBACKS, 'OPTIONS /{proxy+}']),
      )
    },
  )

  it('the open routes are throttled apart from the others', () => {
    const settings = stageOf(byIam).MethodSettings as {
      ResourcePath: string
      HttpMethod: string
      ThrottlingRateLimit: number
      ThrottlingBurstLimit: number
    }[]
    // API Gateway writes `/` within a path as `~1`.
    const limits = settings.map(({ ResourcePath, HttpMethod, ThrottlingRateLimit, ThrottlingBurstLimit }) => [
      `${HttpMethod} ${ResourcePath.replaceAll('~1', '/').replace(/^\/\//, '/')}`,
      [ThrottlingRateLimit, ThrottlingBurstLimit],
    ])
    expect(Object.fromEntries(limits)).toEqual({
      '* /*': [1_000, 2_000],
      ...Object.fromEntries(CALLBACKS.map((key) => [key, [50, 100]])),
    })
  })

  it('the log names routes and no paths, in which there are tokens', () => {
    const { AccessLogSetting } = stageOf(byIam)
    expect(AccessLogSetting.DestinationArn).toEqual({ 'Fn::GetAtt': [expect.stringMatching(/Log/), 'Arn'] })
    expect(AccessLogSetting.Format).toContain('$context.resourcePath')
    expect(AccessLogSetting.Format).not.toContain('$context.path')
    for (const { LoggingLevel = 'OFF', DataTraceEnabled = false } of stageOf(byIam).MethodSettings)
      expect([LoggingLevel, DataTraceEnabled]).toEqual(['OFF', false])
  })

  it('X-Ray traces functions and not the stage, because it keeps paths, and there are tokens in them', () => {
    const traced = synthesise(() => ({ api: 'rest', tracing: true }))
    expect(stageOf(traced).TracingEnabled).toBe(false)
    expect(functionFor(traced, 'The HTTP API').TracingConfig).toEqual({ Mode: 'Active' })
  })

  it('bodies arrive byte by byte, and metrics have a name that no other API has', () => {
    byIam.template.hasResourceProperties('AWS::ApiGateway::RestApi', {
      BinaryMediaTypes: ['*/*'],
      Name: Match.stringLikeRegexp('Test.*Workflows'),
    })
  })

  it('the runner knows the address, and does not come after the stage, which comes after all functions', () => {
    const [api] = Object.keys(byIam.template.findResources('AWS::ApiGateway::RestApi'))
    const url = functionFor(byIam, 'due runs').Environment.Variables.OVERWINTER_PUBLIC_URL
    expect(url['Fn::Join'][1]).toEqual([
      'https://',
      { Ref: api },
      '.execute-api.eu-north-1.',
      { Ref: 'AWS::URLSuffix' },
      '/api',
    ])
    expect(byIam.stack.resolve(byIam.overwinter.api.apiEndpoint)).toEqual(url)
  })

  it('a function has no more time than API Gateway gives it', () => {
    expect(functionFor(byIam, 'The HTTP API').Timeout * 1_000).toBe(GATEWAY_TIMEOUT_MS)
    expect(GATEWAY_TIMEOUT_MS).toBeLessThanOrEqual(29_000)
  })

  it('the dashboard shows the stage', () => {
    const [dashboard] = Object.values(byIam.template.findResources('AWS::CloudWatch::Dashboard'))
    const text = JSON.stringify(dashboard)
    for (const metric of ['4XXError', '5XXError', 'Latency']) expect(text).toContain(metric)
    expect(text).toContain('ApiName')
  })

  it.each(['Start', 'Read', 'Operate'] as const)(
    'a grant is for the routes of its scope on the stage, and no others: %s',
    (scope) => {
      const { stack, overwinter } = build(() => ({ api: 'rest' }))
      overwinter[`grant${scope}`](new Role(stack, 'Shop', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') }))
      const policies = Object.entries(Template.fromStack(stack).findResources('AWS::IAM::Policy'))
      const [statement, ...others] = policies.find(([id]) => id.startsWith('Shop'))![1].Properties.PolicyDocument
        .Statement
      expect([statement.Action, others]).toEqual(['execute-api:Invoke', []])
      const ends = [statement.Resource].flat().map((arn) => arn['Fn::Join'][1].at(-1))
      const own = ROUTES.filter(({ needs }) => needs === scope.toLowerCase()).map(
        ({ method, path }) => `/api/${method}${path.replaceAll(/\{\w+\}/g, '*')}`,
      )
      expect(ends.toSorted()).toEqual([...new Set(own)].toSorted())
    },
  )

  it('the runner itself can be granted something, though the stage comes after it', () => {
    const { stack, overwinter } = build(() => ({ api: 'rest' }))
    overwinter.grantStart(overwinter)
    expect(() => Template.fromStack(stack)).not.toThrow()
  })

  it('tokens are asked for by the function that knows them, and JWTs are refused with what to do', () => {
    synthesise(byToken).template.hasResourceProperties('AWS::ApiGateway::Authorizer', {
      Type: 'REQUEST',
      IdentitySource: 'method.request.header.Authorization',
      AuthorizerResultTtlInSeconds: 300,
    })
    expect(() =>
      build(() => ({ api: 'rest', auth: { jwt: { issuer: 'https://login.example', jwtAudience: ['shop'] } } })),
    ).toThrow(
      "auth: { jwt } needs api: 'http'. REST APIs have no authorizer for JWTs. Leave api out, or use auth: 'iam' or auth: { token }",
    )
  })

  it('the function is told of pages of other origins, since API Gateway leaves its answers as they are', () => {
    const withPages = synthesise(() => ({ api: 'rest', cors: PAGES }))
    expect(JSON.parse(functionFor(withPages, 'The HTTP API').Environment.Variables.OVERWINTER_CORS)).toEqual(PAGES)
    expect(functionFor(byIam, 'The HTTP API').Environment.Variables.OVERWINTER_CORS).toBeUndefined()
    expect(
      functionFor(
        synthesise(() => ({ cors: PAGES })),
        'The HTTP API',
      ).Environment.Variables.OVERWINTER_CORS,
    ).toBeUndefined()
    withPages.template.resourceCountIs('AWS::ApiGateway::GatewayResponse', 2)
  })

  it('it can be private, with a policy of its own', () => {
    synthesise(OPTION_SETS['as a private REST API']).template.hasResourceProperties('AWS::ApiGateway::RestApi', {
      EndpointConfiguration: { Types: ['PRIVATE'], VpcEndpointIds: ['vpce-0123456789abcdef0'] },
      Policy: {
        Statement: [Match.objectLike({ Condition: { StringEquals: { 'aws:SourceVpce': 'vpce-0123456789abcdef0' } } })],
      },
    })
  })

  it('what is added to the API is added to either kind', () => {
    expect(byIam.overwinter.api.rest).toBeInstanceOf(RestApi)
    expect(byIam.overwinter.api.http).toBeUndefined()
    const { api } = synthesise().overwinter
    expect(api.http).toBeInstanceOf(HttpApi)
    expect(api.rest).toBeUndefined()
  })
})
