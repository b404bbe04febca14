import { join } from 'node:path'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { describe, expect, it } from 'vitest'
import { EventSource } from '../../infra/overwinter.ts'
import { streamed } from './event-sources.ts'
import { OPTION_SETS } from './option-sets.ts'
import { synthesise } from './synth.ts'

type Statement = { Action: string | string[]; Effect: string; Resource: unknown; Condition?: unknown }
type Policy = { Properties: { PolicyDocument: { Statement: Statement[] }; Roles: { Ref: string }[] } }

describe('what each function may do', () => {
  const { template } = synthesise((stack) => ({
    lifecycleEvents: true,
    taskTypes: ['llm'],
    invokes: ['mailer', 'arn:aws:lambda:eu-north-1:123456789012:function:biller'],
    also(overwinter) {
      overwinter.startOn(EventSource.bus({ source: ['shop'] }), 'placed')
      overwinter.startOn(EventSource.queue(new Queue(stack, 'Orders')), 'queued')
      overwinter.cancelOn(EventSource.stream(streamed(stack)), 'removed')
    },
  }))
  const policies = Object.values(template.findResources('AWS::IAM::Policy')) as Policy[]
  const statements = policies.flatMap(({ Properties }) => Properties.PolicyDocument.Statement)

  it('matches its snapshot: look twice before accepting a change here', async () => {
    const byRole = Object.fromEntries(
      policies.map(({ Properties }) => [
        Properties.Roles.map(({ Ref }) => Ref).join(),
        Properties.PolicyDocument.Statement,
      ]),
    )
    await expect(`${JSON.stringify(byRole, null, 2)}\n`).toMatchFileSnapshot(
      join(import.meta.dirname, 'golden/iam.json'),
    )
  })

  it('is named action by action', () => {
    const actions = statements.flatMap(({ Action }) => Action)
    expect(actions.filter((action) => action.includes('*'))).toEqual([])
  })

  it('is for everything of a kind only where X-Ray, which has no resources, takes traces', () => {
    const traced = synthesise(OPTION_SETS['with everything switched on'])
    const all = (Object.values(traced.template.findResources('AWS::IAM::Policy')) as Policy[]).flatMap(
      ({ Properties }) => Properties.PolicyDocument.Statement,
    )
    const wide = all.filter(({ Resource }) => [Resource].flat().includes('*')).flatMap(({ Action }) => Action)
    expect(new Set(wide)).toEqual(new Set(['xray:PutTraceSegments', 'xray:PutTelemetryRecords']))
    expect(statements.filter(({ Resource }) => [Resource].flat().includes('*'))).toEqual([])
  })

  it('is in a role of its own', () => {
    const roles = Object.values(template.findResources('AWS::Lambda::Function')).map(({ Properties }) =>
      JSON.stringify(Properties.Role),
    )
    expect(new Set(roles).size).toBe(roles.length)
    expect(roles).toHaveLength(11)
  })

  it('lets ctx.invoke reach the functions that were named, and no others', () => {
    const invokes = statements.filter(({ Action }) => [Action].flat().includes('lambda:InvokeFunction'))
    const named = invokes.filter(({ Resource }) => /function:/.test(JSON.stringify(Resource)))
    expect(named).toHaveLength(1)
    expect(JSON.stringify(named[0]!.Resource)).toMatch(/function:mailer".*function:biller"/)
    // The other is the API's, which hands runs to the runner that somebody waits for.
    expect(invokes.filter((each) => !named.includes(each)).map(({ Resource }) => JSON.stringify(Resource))).toEqual([
      expect.stringMatching(/Runner/),
    ])
  })

  it('lets schedules do one thing', () => {
    const { Properties } = policies.find(({ Properties }) => Properties.Roles[0]!.Ref.includes('SchedulerRole'))!
    expect(Properties.PolicyDocument.Statement).toMatchObject([{ Action: 'sqs:SendMessage', Effect: 'Allow' }])
  })
})
