import { Match } from 'aws-cdk-lib/assertions'
import { EventBus } from 'aws-cdk-lib/aws-events'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { describe, expect, it } from 'vitest'
import { mappingFromData } from '../../sdk/events/mapping.ts'
import { takeEvent } from '../../sdk/events/take.ts'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { build, synthesise } from './synth.ts'

const ofFailures = {
  source: ['overwinter'],
  detail: {
    status: ['FAILED', 'STUCK'],
    runId: [{ 'anything-but': { prefix: 'failure~' } }],
    parentId: [{ exists: false }, { 'anything-but': { prefix: 'failure~' } }],
  },
}

describe('onFailure', () => {
  it('with a topic tells it of runs of this construct that failed or are stuck, and switches their events on', () => {
    const { template } = synthesise((stack) => ({ onFailure: { topic: new Topic(stack, 'Failures') } }))
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: { ...ofFailures, resources: [{ prefix: Match.anyValue() }] },
      Targets: [Match.objectLike({ Arn: { Ref: Match.stringLikeRegexp('Failures') } })],
    })
    template.resourceCountIs('AWS::Lambda::EventSourceMapping', 3)
  })

  it('listens on the bus that events go to', () => {
    const { template } = synthesise((stack) => ({
      lifecycleEvents: new EventBus(stack, 'Own'),
      onFailure: { topic: new Topic(stack, 'Failures') },
    }))
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: Match.objectLike(ofFailures),
      EventBusName: { Ref: Match.stringLikeRegexp('Own') },
    })
  })

  it('with a workflow starts it once for each failure, however often that is told', async () => {
    const { template } = synthesise(() => ({ onFailure: { workflow: 'tell' } }))
    const [told] = Object.values(template.findResources('AWS::Lambda::Function')).flatMap(
      ({ Properties }) => Properties.Environment?.Variables?.OVERWINTER_SUBSCRIPTION ?? [],
    )
    const { name, kind, mapping } = JSON.parse(told)
    const env = await testEnv({ workflows: [workflow('tell', async (_ctx, { runId }: { runId: string }) => runId)] })
    const tell = (id: string, epoch: number) =>
      takeEvent(env.client, mappingFromData(name, { kind, ...mapping }), {
        id,
        source: 'overwinter',
        detail: { id: `${'x'.repeat(200)}/aB-_9/${epoch}/failed`, runId: 'r', status: 'FAILED' },
      })
    expect(await tell('first', 1)).toMatchObject({ runId: 'failure~aB-_9~1~failed', created: true })
    expect(await tell('again', 1)).toMatchObject({ created: false })
    expect(await tell('retried', 2)).toMatchObject({ created: true })
    expect(await env.handle('failure~aB-_9~1~failed').result()).toBe('r')
  })

  it('is refused where it can never be called, or names both or neither', () => {
    const cases = [
      [{ lifecycleEvents: false, onFailure: { workflow: 'tell' } }, /^onFailure needs lifecycleEvents/],
      [{ onFailure: {} as never }, /^onFailure must have a workflow/],
      [{ onFailure: { workflow: '' } }, /startOn: workflow/],
    ] as const
    for (const [props, message] of cases) expect(() => build(() => props)).toThrow(message)
  })
})
