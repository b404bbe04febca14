import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { describe, expect, it } from 'vitest'
import { METRIC } from '../../functions/metrics.ts'
import { tracingOf } from '../../infra/tracing.ts'
import { build, type Props, synthesise } from './synth.ts'

const X_RAY = ['xray:PutTraceSegments', 'xray:PutSpans', 'xray:PutSpansForIndexing']

function whoMayTrace(props: Props): string[] {
  const policies = Object.values(synthesise(props).template.findResources('AWS::IAM::Policy'))
  const isTracing = ({ Action }: { Action: string | string[] }) =>
    [Action].flat().some((action) => X_RAY.includes(action))
  return policies
    .filter(({ Properties }) => Properties.PolicyDocument.Statement.some(isTracing))
    .map(({ Properties }) => Properties.Roles[0].Ref)
}

describe('traces of runs', () => {
  it('go to CloudWatch where that was asked for, and the runner alone may send them', () => {
    expect(whoMayTrace(() => ({ tracing: 'cloudwatch' }))).toEqual([expect.stringMatching(/RunnerRole/)])
    expect(whoMayTrace(() => ({}))).toEqual([])
    const { template } = synthesise(() => ({ tracing: 'cloudwatch' }))
    const actions = Object.values(template.findResources('AWS::IAM::Policy')).flatMap(
      ({ Properties }) => Properties.PolicyDocument.Statement,
    )
    expect(actions).toContainEqual({ Action: X_RAY, Effect: 'Allow', Resource: '*' })
    // That is another thing, and costs extra.
    for (const { Properties } of Object.values(template.findResources('AWS::Lambda::Function')))
      expect(Properties).not.toHaveProperty('TracingConfig')
  })

  it('go to an endpoint of their own where a variable names one, unless that was refused', () => {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otel.example' }
    const { stack } = build()
    const secrets = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: Secret.fromSecretNameV2(stack, 'Otel', 'otel') }
    const entry = 'x'
    expect(tracingOf({ entry, environment })).toBe('otlp')
    expect(tracingOf({ entry, secrets })).toBe('otlp')
    expect(tracingOf({ entry, environment, tracing: true })).toBe('otlp')
    expect(tracingOf({ entry, environment, tracing: 'cloudwatch' })).toBe('cloudwatch')
    expect(tracingOf({ entry, environment, tracing: false })).toBe('no')
    expect(tracingOf({ entry, tracing: true })).toBe('no')
  })
})

describe('metrics', () => {
  const dashboardOf = (props: Props) =>
    JSON.stringify(
      Object.values(synthesise(props).template.findResources('AWS::CloudWatch::Dashboard'))[0]!.Properties
        .DashboardBody,
    )

  it('are all on the dashboard, those of traces where there are any', () => {
    const { droppedSpans, deadEvents: _, ...others } = METRIC
    for (const name of Object.values(others)) expect(dashboardOf(() => ({}))).toContain(name)
    expect(dashboardOf(() => ({}))).not.toContain(droppedSpans)
    expect(dashboardOf(() => ({ tracing: 'cloudwatch' }))).toContain(droppedSpans)
  })

  it('are counted by workflow only for those that were named', () => {
    const named = synthesise(() => ({ metrics: { workflows: ['orders', 'mails'] } }))
    const runner = Object.values(named.template.findResources('AWS::Lambda::Function')).find(({ Properties }) =>
      /Takes due runs/.test(Properties.Description),
    )!
    expect(runner.Properties.Environment.Variables.OVERWINTER_COUNTED_WORKFLOWS).toBe('orders\nmails')
    expect(dashboardOf(() => ({ metrics: { workflows: ['orders'] } }))).toContain('\\"workflow\\",\\"orders\\"')
    expect(dashboardOf(() => ({}))).not.toContain('workflow\\"')
  })
})
