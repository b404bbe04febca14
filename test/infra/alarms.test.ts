import { readFileSync } from 'node:fs'
import { Duration } from 'aws-cdk-lib'
import { Annotations, Match } from 'aws-cdk-lib/assertions'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { describe, expect, it } from 'vitest'
import { EventSource } from '../../infra/overwinter.ts'
import { emittedMetrics } from '../functions/emitted-metrics.ts'
import { streamed } from './event-sources.ts'
import { type Props, type Synthesised, synthesise } from './synth.ts'

interface MetricStat {
  Namespace: string
  MetricName: string
  Dimensions?: { Name: string; Value: unknown }[]
}
interface AlarmProperties extends Partial<MetricStat> {
  AlarmDescription: string
  Metrics?: { Expression?: string; MetricStat?: { Metric: MetricStat } }[]
}

const everything: Props = (stack) => ({
  lifecycleEvents: true,
  taskTypes: ['llm'],
  auth: { token: new Secret(stack, 'Token') },
  also(overwinter) {
    overwinter.startOn(EventSource.queue(new Queue(stack, 'Orders')), 'placed')
    overwinter.cancelOn(EventSource.stream(streamed(stack)), 'removed')
  },
})

const alarmsOf = ({ template }: Synthesised): [name: string, AlarmProperties][] =>
  Object.entries(template.findResources('AWS::CloudWatch::Alarm')).map(([id, { Properties }]) => [
    id.replace(/^WorkflowsAlarms|[0-9A-F]{8}$/g, ''),
    Properties,
  ])

function watchedBy({ Namespace, MetricName, Dimensions, Metrics = [] }: AlarmProperties): MetricStat[] {
  const own = Namespace === undefined ? [] : [{ Namespace, MetricName: MetricName!, ...(Dimensions && { Dimensions }) }]
  return [...own, ...Metrics.flatMap(({ MetricStat }) => (MetricStat ? [MetricStat.Metric] : []))]
}

const shapeOf = ({ Namespace, MetricName, Dimensions = [] }: MetricStat): string =>
  `${Namespace} ${MetricName} by ${Dimensions.map(({ Name }) => Name)
    .sort()
    .join(', ')}`

/** What AWS says that it publishes, in its guides: the name of the metric and one of the sets of dimensions. */
const PUBLISHED_BY_AWS = [
  // Amazon DynamoDB Developer Guide, "DynamoDB Metrics and dimensions".
  'AWS/DynamoDB ReadThrottleEvents by TableName',
  'AWS/DynamoDB ReadThrottleEvents by GlobalSecondaryIndexName, TableName',
  'AWS/DynamoDB WriteThrottleEvents by TableName',
  'AWS/DynamoDB WriteThrottleEvents by GlobalSecondaryIndexName, TableName',
  // AWS Lambda Developer Guide, "Types of metrics for Lambda functions".
  'AWS/Lambda Errors by FunctionName',
  'AWS/Lambda Throttles by FunctionName',
  'AWS/Lambda Invocations by FunctionName',
  'AWS/Lambda IteratorAge by FunctionName',
  // Amazon SQS Developer Guide, "Available CloudWatch metrics for Amazon SQS".
  'AWS/SQS ApproximateNumberOfMessagesVisible by QueueName',
  'AWS/SQS ApproximateNumberOfMessagesNotVisible by QueueName',
  'AWS/SQS ApproximateAgeOfOldestMessage by QueueName',
  'AWS/SQS NumberOfMessagesReceived by QueueName',
  // Amazon API Gateway Developer Guide, "Work with metrics for HTTP APIs" and "Amazon API Gateway dimensions and metrics" of REST APIs.
  'AWS/ApiGateway 5xx by ApiId',
  'AWS/ApiGateway 5XXError by ApiName, Stage',
]

describe.each([
  ['an HTTP API', synthesise(everything)],
  ['a REST API', synthesise((stack) => ({ ...everything(stack), api: 'rest' }))],
])('the alarms of a stack with %s', (_, stack) => {
  it('watch metrics that AWS publishes, with the dimensions that it has them under', () => {
    const ofAws = alarmsOf(stack).flatMap(([name, alarm]) =>
      watchedBy(alarm)
        .filter(({ Namespace }) => Namespace.startsWith('AWS/'))
        .map((metric) => [name, shapeOf(metric)]),
    )
    expect(ofAws.filter(([, shape]) => !PUBLISHED_BY_AWS.includes(shape!))).toEqual([])
  })

  it('watch metrics that the functions write, under the namespace and the service that their variables name', async () => {
    const own = alarmsOf(stack).flatMap(([, alarm]) =>
      watchedBy(alarm).filter(({ Namespace }) => !Namespace.startsWith('AWS/')),
    )
    const functions = Object.values(stack.template.findResources('AWS::Lambda::Function')).map(
      ({ Properties }) => Properties.Environment.Variables,
    )
    const emitted = await emittedMetrics(functions[0]!)
    expect(own.length).toBeGreaterThan(5)
    for (const { Namespace, MetricName, Dimensions } of own) {
      const dimensions = Object.fromEntries(Dimensions!.map(({ Name, Value }) => [Name, Value]))
      expect(emitted).toContainEqual({ namespace: Namespace, name: MetricName, dimensions })
    }
    for (const { POWERTOOLS_METRICS_NAMESPACE, POWERTOOLS_SERVICE_NAME } of functions)
      expect([POWERTOOLS_METRICS_NAMESPACE, POWERTOOLS_SERVICE_NAME]).toEqual(['Overwinter', 'Test/Workflows'])
  })

  it('are there for all that people must look after', () => {
    const names = alarmsOf(stack).map(([name]) => name)
    const expected = [
      'RunsParked',
      'RunsStuck',
      'RunsFailed',
      'RunsOverdue',
      'RemovalsOverdue',
      'LimitersUnchecked',
      'SchedulerRefusals',
      'DeadLetters',
      'QueueAge',
    ]
    expected.push(
      'LifecycleDeadLetters',
      'LifecycleAge',
      'EventsremovedAge',
      'EventDeadLetters',
      'TableThrottles',
      'ApiServerErrors',
      'SweeperSilent',
    )
    for (const name of ['Runner', 'Api', 'Sweeper', 'DeadLetters', 'Schedules', 'Lifecycle', 'Workers', 'Authorizer'])
      expected.push(`${name}Errors`, `${name}Throttles`)
    expect(expected.filter((name) => !names.includes(name))).toEqual([])
    expect(names).not.toContain('EventsplacedAge')
  })

  it('say what to do, and have a section each in the guide for operators, which they name', () => {
    const guide = readFileSync(new URL('../../docs/operate.md', import.meta.url), 'utf8')
    const sections = new Set([...guide.matchAll(/^### `([^`]+)`$/gm)].map(([, title]) => title))
    for (const [name, { AlarmDescription }] of alarmsOf(stack)) {
      expect(AlarmDescription.length).toBeGreaterThan(40)
      const section = /See "([^"]+)" in docs\/operate\.md\.$/.exec(AlarmDescription)?.[1]
      expect(sections, name).toContain(section)
      // `<function>Errors` stands for RunnerErrors, ApiErrors and so on.
      expect(name).toMatch(new RegExp(`^${section!.replace(/<\w+>/, '\\w+')}$`))
    }
  })
})

describe('an alarm', () => {
  const alarm = (stack: Synthesised, name: string) =>
    Object.fromEntries(alarmsOf(stack))[name] as unknown as Record<string, unknown>

  it('of throttling sums up the table and each of its indexes, for reads and writes', () => {
    const [table, ...indexes] = [undefined, 'due', 'list']
    const watched = watchedBy(alarm(synthesise(), 'TableThrottles') as unknown as AlarmProperties).map(
      ({ MetricName, Dimensions }) => [
        MetricName,
        Dimensions!.find(({ Name }) => Name === 'GlobalSecondaryIndexName')?.Value,
      ],
    )
    const events = ['ReadThrottleEvents', 'WriteThrottleEvents']
    expect(watched).toEqual([table, ...indexes].flatMap((index) => events.map((event) => [event, index])))
  })

  it('of runs that are stuck, overdue or past their retention stays on between two looks of the sweeper', () => {
    const stack = synthesise()
    for (const [name, minutes] of [
      ['RunsStuck', 11],
      ['RunsOverdue', 16],
      ['RemovalsOverdue', 11],
    ] as const) {
      const { Period, EvaluationPeriods, DatapointsToAlarm, Statistic } = alarm(stack, name)
      expect([DatapointsToAlarm, Statistic]).toEqual([1, 'Maximum'])
      expect((Period as number) * (EvaluationPeriods as number)).toBeGreaterThanOrEqual(minutes * 60)
    }
  })

  it('of limiters that cannot be checked outlasts one check in vain, and is over when none is told of', () => {
    expect(alarm(synthesise(), 'LimitersUnchecked')).toMatchObject({
      Statistic: 'Maximum',
      Threshold: 1,
      EvaluationPeriods: 2,
      TreatMissingData: 'notBreaching',
    })
  })

  it('of failed runs goes off at the number that was asked for, or never', () => {
    expect(alarm(synthesise(), 'RunsFailed')).toMatchObject({ Threshold: 1 })
    expect(
      alarm(
        synthesise(() => ({ failedRunsAlarm: 20 })),
        'RunsFailed',
      ),
    ).toMatchObject({ Threshold: 20 })
    expect(
      alarm(
        synthesise(() => ({ failedRunsAlarm: false })),
        'RunsFailed',
      ),
    ).toBeUndefined()
    expect(() => synthesise(() => ({ failedRunsAlarm: 0 }))).toThrow(
      'failedRunsAlarm is 0, and must be a whole number from 1',
    )
  })

  it('notifies the given recipients of every alarm', () => {
    const { template } = synthesise((stack) => ({
      ...everything(stack),
      alarmActions: [new SnsAction(new Topic(stack, 'Pager'))],
    }))
    const all = template.findResources('AWS::CloudWatch::Alarm')
    expect(
      Object.keys(
        template.findResources('AWS::CloudWatch::Alarm', { Properties: { AlarmActions: [Match.anyValue()] } }),
      ),
    ).toEqual(Object.keys(all))
  })

  it('is sent to the address or the topic of alarmsTo; without anyone to tell, synthesis warns', () => {
    const { template } = synthesise(() => ({ alarmsTo: 'ops@example.com' }))
    template.hasResourceProperties('AWS::SNS::Subscription', { Protocol: 'email', Endpoint: 'ops@example.com' })
    const policy = {
      PolicyDocument: {
        Statement: Match.arrayWith([Match.objectLike({ Principal: { Service: 'cloudwatch.amazonaws.com' } })]),
      },
    }
    template.hasResourceProperties('AWS::SNS::TopicPolicy', policy)
    const arn = 'arn:aws:sns:eu-north-1:123456789012:pager'
    expect(
      alarm(
        synthesise(() => ({ alarmsTo: arn })),
        'RunsStuck',
      ),
    ).toMatchObject({ AlarmActions: [arn] })
    expect(() => synthesise(() => ({ alarmsTo: 'ops' }))).toThrow(
      "alarmsTo is 'ops', and must be a mail address or the ARN of an SNS topic",
    )
    const warnings = (stack: Synthesised) =>
      Annotations.fromStack(stack.stack).findWarning('*', Match.stringLikeRegexp('No one is notified'))
    expect(warnings(synthesise())).toHaveLength(1)
    expect(warnings(synthesise(() => ({ alarmsTo: arn })))).toEqual([])
  })

  it('of tasks counts tasks that no worker takes, not tasks that take long; and a queue has the time of a visit', () => {
    const stack = synthesise(() => ({ taskTypes: ['llm'], timeout: Duration.minutes(10) }))
    expect(alarm(stack, 'QueueAge')).toMatchObject({ MetricName: 'ApproximateAgeOfOldestMessage', Threshold: 900 })
    const [[, unattended]] = alarmsOf(stack).filter(([name]) => name.startsWith('llm')) as [[string, AlarmProperties]]
    expect(unattended).toMatchObject({ Threshold: 1, EvaluationPeriods: 3, TreatMissingData: 'notBreaching' })
    expect(watchedBy(unattended).map(({ MetricName }) => MetricName)).toEqual([
      'ApproximateNumberOfMessagesVisible',
      'NumberOfMessagesReceived',
    ])
  })
})
