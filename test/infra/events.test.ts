import { Duration, type Stack } from 'aws-cdk-lib'
import { Match as Like, Template } from 'aws-cdk-lib/assertions'
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { Match } from 'aws-cdk-lib/aws-events'
import { Key } from 'aws-cdk-lib/aws-kms'
import { Bucket } from 'aws-cdk-lib/aws-s3'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { describe, expect, it } from 'vitest'
import { EventSource, type Overwinter } from '../../infra/overwinter.ts'
import { subscribeToAll } from './event-sources.ts'
import { build, synthesise } from './synth.ts'

describe('events from outside', () => {
  const { template, overwinter } = synthesise((stack) => ({ also: (ours) => subscribeToAll(stack, ours) }))
  const plain = synthesise()
  const told = Object.values(template.findResources('AWS::Lambda::Function')).flatMap(({ Properties }) => {
    const text = Properties.Environment?.Variables?.OVERWINTER_SUBSCRIPTION as string | undefined
    return text === undefined ? [] : [JSON.parse(text)]
  })

  it('have one function for each subscription, which is told what it does', () => {
    expect(told).toEqual([
      {
        name: 'start-order-on-OrderPlaced',
        source: 'bus',
        kind: 'start',
        mapping: { workflow: 'order', id: 'detail.id', input: 'detail' },
        patienceMs: 120_000,
      },
      {
        name: 'order-queued',
        source: 'queue',
        kind: 'start',
        mapping: 'order-queued',
        patienceMs: 3_600_000,
        mostReceives: 4,
      },
      {
        name: 'signal-paid-on-News',
        source: 'topic',
        kind: 'signal',
        mapping: { signal: 'paid', runId: 'message.id', payload: 'message' },
        patienceMs: 120_000,
      },
      {
        name: 'start-import-on-Uploads',
        source: 'bucket',
        kind: 'start',
        mapping: { workflow: 'import', input: '$' },
        patienceMs: 120_000,
      },
      {
        name: 'cancel-on-Shop',
        source: 'stream',
        kind: 'cancel',
        mapping: { runId: 'keys.id', reason: '"removed"' },
        patienceMs: 120_000,
      },
    ])
  })

  it('have queues and streams bring back what failed, and no neighbour of it', () => {
    for (const [size, more] of [
      [10, {}],
      [
        100,
        {
          BisectBatchOnFunctionError: true,
          MaximumRetryAttempts: 100,
          FilterCriteria: { Filters: [{ Pattern: '{"eventName":["REMOVE"]}' }] },
        },
      ],
    ] as const)
      template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
        BatchSize: size,
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        ...more,
      })
  })

  it('have the others try again twice, and keep what failed each time', () => {
    const OnFailure = { Destination: { 'Fn::GetAtt': [Like.stringLikeRegexp('EventDeadLetters'), 'Arn'] } }
    template.resourcePropertiesCountIs(
      'AWS::Lambda::EventInvokeConfig',
      { MaximumRetryAttempts: 2, DestinationConfig: { OnFailure } },
      3,
    )
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: { source: ['shop'], 'detail-type': ['OrderPlaced'] },
      Targets: [Like.objectLike({ DeadLetterConfig: Like.anyValue() })],
    })
    template.hasResourceProperties('AWS::SNS::Subscription', { Protocol: 'lambda', RedrivePolicy: Like.anyValue() })
    const LambdaFunctionConfigurations = [
      Like.objectLike({
        Events: ['s3:ObjectCreated:*'],
        Filter: { Key: { FilterRules: [{ Name: 'prefix', Value: 'in/' }] } },
      }),
    ]
    template.hasResourceProperties('Custom::S3BucketNotifications', {
      NotificationConfiguration: { LambdaFunctionConfigurations },
    })
  })

  it('of a bus are taken at most so many at a time where that is asked for; a queue has a bound of its own', () => {
    const most = (source: (stack: Stack) => EventSource, concurrency: number) => {
      const also = (stack: Stack) => (ours: Overwinter) =>
        void ours.startOn(source(stack), { workflow: 'order' }, { concurrency })
      return synthesise((stack) => ({ also: also(stack) })).template
    }
    const bus = () => EventSource.bus({ detailType: ['Placed'] })
    const Description = "Takes events of 'start-order-on-Placed'"
    most(bus, 3).hasResourceProperties('AWS::Lambda::Function', { Description, ReservedConcurrentExecutions: 3 })
    expect(() => most(bus, 0)).toThrow('startOn: concurrency is 0, and must be a whole number from 1 on')
    expect(() => most((stack) => EventSource.queue(new Queue(stack, 'Q')), 3)).toThrow(
      'A queue has a bound of its own; leave it out',
    )
  })

  it('have one queue of dead letters, which an alarm watches, two alarms for each function, and one for each stream', () => {
    const alarms = Object.values(template.findResources('AWS::CloudWatch::Alarm')).map(
      ({ Properties }) => Properties.AlarmDescription as string,
    )
    expect(alarms.filter((says) => says.startsWith('Events from outside'))).toHaveLength(1)
    expect(alarms.filter((says) => says.startsWith('The function Events-'))).toHaveLength(11)
    const letters = (of: typeof template) =>
      Object.keys(of.findResources('AWS::SQS::Queue')).filter((id) => id.includes('EventDeadLetters'))
    expect([letters(template).length, letters(plain.template).length]).toEqual([1, 0])
    expect(overwinter.subscriptions.deadLetters).toBeInstanceOf(Queue)
    expect(plain.overwinter.subscriptions.deadLetters).toBeUndefined()
  })

  it('count under the name of the construct', () => {
    template.hasResourceProperties('AWS::Lambda::Function', {
      Description: "Takes events of 'order-queued'",
      Environment: { Variables: { POWERTOOLS_SERVICE_NAME: 'Test/Workflows' } },
    })
  })

  it('are called by what they say, not by how they match', () => {
    const { overwinter: ours } = build()
    const labels = [
      EventSource.bus({ source: ['shop'], detailType: Match.prefix('Order') }),
      EventSource.bus({ detailType: Match.suffix('Placed') }),
    ].map(({ label }) => label)
    expect(labels).toEqual(['shop', 'bus'])
    expect(() => ours.startOn(EventSource.bus({ detailType: ['x'.repeat(200)] }), { workflow: 'order' })).not.toThrow()
  })

  it('leave nothing behind where there are none', () => {
    expect(plain.overwinter.subscriptions.deadLetters).toBeUndefined()
    expect(JSON.stringify(plain.template.toJSON())).not.toMatch(/Subscriptions|EventDeadLetters|EventInvokeConfig/)
  })

  it('let EventBridge and SNS use the key of the dead letters', () => {
    const { template: encrypted } = synthesise((stack) => ({
      kmsKey: new Key(stack, 'Key'),
      also: (ours) => subscribeToAll(stack, ours),
    }))
    for (const Service of ['events.amazonaws.com', 'sns.amazonaws.com'])
      encrypted.hasResourceProperties('AWS::KMS::Key', {
        KeyPolicy: {
          Statement: Like.arrayWith([
            Like.objectLike({ Action: ['kms:Decrypt', 'kms:GenerateDataKey'], Principal: { Service } }),
          ]),
        },
      })
  })
})

describe('a subscription is refused when the stack is synthesised', () => {
  const { stack, overwinter } = build()
  const queue = EventSource.queue(new Queue(stack, 'Orders'))
  const start = (mapping: unknown, options?: { name?: string; patience?: Duration }) => () =>
    overwinter.startOn(queue, mapping as string, options)

  it.each([
    [
      'an id that is no JSONata',
      start({ workflow: 'order', id: 'body.' }),
      /^startOn: id cannot be evaluated as JSONata/,
    ],
    ['no workflow', start({ id: 'body.id' }), 'startOn: workflow is missing'],
    [
      'an option that is not known',
      start({ workflow: 'order', payload: '$' }),
      'startOn: payload is not known here; known: workflow, id, input',
    ],
    [
      'a function',
      start({ workflow: 'order', id: () => 'x' }),
      'startOn: id is a function, and must be JSONata here. Export the mapping from the entry, and give its name',
    ],
    ['the time of day', start({ workflow: 'order', input: '$now()' }), 'startOn: input uses the clock or dice'],
    ['no name of a mapping', start(''), 'startOn: the name of a mapping must not be empty'],
    [
      'patience that the source has not',
      () => overwinter.signalOn(EventSource.topic(new Topic(stack, 'News')), 'paid', { patience: Duration.hours(1) }),
      /^signalOn: patience is 1 hour, and must be at most 2 minutes: a topic brings an event three times/,
    ],
    [
      'what is no source',
      () => overwinter.cancelOn({} as never, 'x', { name: 'x' }),
      'cancelOn: the source must be an EventSource',
    ],
    ['a pattern that is empty', () => EventSource.bus({}), 'EventSource.bus: the pattern is empty'],
    [
      'no events of a bucket',
      () => EventSource.bucket(new Bucket(stack, 'Uploads'), { events: [] }),
      'EventSource.bucket: events is empty',
    ],
    [
      'a FIFO topic',
      () => EventSource.topic(new Topic(stack, 'Fifo', { fifo: true })),
      "EventSource.topic: 'Fifo' is a FIFO topic",
    ],
    [
      'a table without a stream',
      () =>
        EventSource.stream(new TableV2(stack, 'Still', { partitionKey: { name: 'id', type: AttributeType.STRING } })),
      "EventSource.stream: nothing is known of a stream of table 'Still'. Give it one",
    ],
    [
      'a queue that hides its messages too briefly',
      () =>
        overwinter.startOn(
          EventSource.queue(new Queue(stack, 'Hasty', { visibilityTimeout: Duration.seconds(5) })),
          'placed',
        ),
      /messages of 'Hasty' are hidden for 5 seconds .* Make visibilityTimeout at least 30 seconds/,
    ],
  ])('with %s', (_, wrong, message) => {
    expect(wrong).toThrow(message)
  })

  it('with a name that another has', () => {
    overwinter.startOn(queue, 'twice')
    expect(start('twice')).toThrow("startOn: there is a subscription named 'twice' already. Give this one another name")
    overwinter.startOn(EventSource.queue(new Queue(stack, 'Others')), 'twice', { name: 'twice from others' })
    Template.fromStack(stack)
  })

  it('on a queue that another has, on the dead letters themselves, and on the table of the runs', () => {
    const shared = new Queue(stack, 'Shared')
    overwinter.startOn(EventSource.queue(shared), 'first of two')
    expect(() => overwinter.signalOn(EventSource.queue(shared), 'second')).toThrow(
      "signalOn: queue 'Shared' has a subscription already. Two would take each other's messages",
    )
    expect(() => overwinter.startOn(EventSource.queue(overwinter.subscriptions.deadLetters!), 'letters')).toThrow(
      'the queue of dead letters itself',
    )
    const { overwinter: told } = synthesise(() => ({ lifecycleEvents: true }))
    expect(() => told.startOn(EventSource.stream(told.table), 'runs')).toThrow('the table of the runs itself')
  })
})
