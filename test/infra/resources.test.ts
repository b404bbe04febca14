import { RemovalPolicy } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { describe, expect, it } from 'vitest'
import { TABLE } from '../../sdk/worlds/aws/table.ts'
import { build, synthesise } from './synth.ts'

describe('the stack', () => {
  const { template } = synthesise()
  const only = (type: string) => {
    const found = Object.values(template.findResources(type))
    expect(found).toHaveLength(1)
    return found[0]!
  }

  it("has a table with the store's keys, on demand, that forgets by itself and is hard to lose", () => {
    const table = only('AWS::DynamoDB::GlobalTable')
    const keys = (partitionKey: string, sortKey: string) => [
      { AttributeName: partitionKey, KeyType: 'HASH' },
      { AttributeName: sortKey, KeyType: 'RANGE' },
    ]
    expect(table).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' })
    expect(table.Properties).toMatchObject({
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: keys(TABLE.partitionKey, TABLE.sortKey),
      TimeToLiveSpecification: { AttributeName: TABLE.timeToLive, Enabled: true },
      GlobalSecondaryIndexes: TABLE.indexes.map(({ name, partitionKey, sortKey, include }) => ({
        IndexName: name,
        KeySchema: keys(partitionKey, sortKey),
        Projection: include
          ? { ProjectionType: 'INCLUDE', NonKeyAttributes: [...include] }
          : { ProjectionType: 'KEYS_ONLY' },
      })),
      Replicas: [
        { DeletionProtectionEnabled: true, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } },
      ],
    })
  })

  it('gives a message six times the time that a runner has, and 14 days to a dead one', () => {
    const runner = Object.values(template.findResources('AWS::Lambda::Function')).find(({ Properties }) =>
      Properties.Description.includes('due runs'),
    )!
    const queues = Object.values(template.findResources('AWS::SQS::Queue')).map(({ Properties }) => Properties)
    const work = queues.find(({ RedrivePolicy }) => RedrivePolicy)!
    expect(work.VisibilityTimeout).toBeGreaterThanOrEqual(6 * runner.Properties.Timeout)
    expect(work.RedrivePolicy.maxReceiveCount).toBe(5)
    expect(queues.find(({ RedrivePolicy }) => !RedrivePolicy)!.MessageRetentionPeriod).toBe(14 * 86_400)
  })

  it('has functions on the current runtime, on arm64, with logs as JSON that end', () => {
    const functions = Object.values(template.findResources('AWS::Lambda::Function')).map(({ Properties }) => Properties)
    expect(functions).toHaveLength(6)
    for (const one of functions)
      expect(one).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        LoggingConfig: { LogFormat: 'JSON' },
      })
    for (const group of Object.values(template.findResources('AWS::Logs::LogGroup')))
      expect(group.Properties.RetentionInDays).toBe(30)
  })

  it('keeps payloads private, encrypted and behind TLS, and not for ever', () => {
    const { Properties } = only('AWS::S3::Bucket')
    expect(Properties.PublicAccessBlockConfiguration).toEqual({
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    })
    expect(Properties.BucketEncryption).toBeDefined()
    expect(Properties.LifecycleConfiguration.Rules[0]).toMatchObject({
      ExpirationInDays: 800,
      Prefix: 'runs/',
      Status: 'Enabled',
    })
    template.hasResourceProperties('AWS::S3::BucketPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
        ]),
      },
    })
  })

  it('has a dashboard', () => {
    template.resourceCountIs('AWS::CloudWatch::Dashboard', 1)
  })

  it('goes away completely where that was asked for', () => {
    const { template: disposable } = synthesise(() => ({ removalPolicy: RemovalPolicy.DESTROY }))
    const [table] = Object.values(disposable.findResources('AWS::DynamoDB::GlobalTable'))
    expect(table).toMatchObject({
      DeletionPolicy: 'Delete',
      Properties: { Replicas: [{ DeletionProtectionEnabled: false }] },
    })
  })

  describe('with types of tasks for workers outside', () => {
    const { template: withWorkers, overwinter } = synthesise(() => ({ taskTypes: ['llm', 'a/b', 'a b', 'llm'] }))
    const functions = Object.values(withWorkers.findResources('AWS::Lambda::Function')).map(
      ({ Properties }) => Properties,
    )

    it('has a queue for each, behind TLS, and tells the functions', () => {
      expect(overwinter.tasks.queues.size).toBe(3)
      withWorkers.resourceCountIs('AWS::SQS::Queue', 5)
      for (const { Environment } of functions)
        expect(JSON.stringify(Environment.Variables.OVERWINTER_TASK_QUEUES)).toContain('llm')
    })

    it('has a streaming URL for workers, without an authorizer: the function checks their tokens', () => {
      withWorkers.hasResourceProperties('AWS::Lambda::Url', { AuthType: 'NONE', InvokeMode: 'RESPONSE_STREAM' })
      expect(functions.find(({ Description }) => Description.includes('workers outside'))).toMatchObject({
        Timeout: 360,
      })
    })

    it('grants reading one of the task queues, and refuses a grant for a type without a queue', () => {
      const { stack, overwinter: ours } = build(() => ({ taskTypes: ['llm'] }))
      ours.grantReceiveTasks('llm', new Role(stack, 'Reader', { assumedBy: new ServicePrincipal('ec2.amazonaws.com') }))
      Template.fromStack(stack).hasResourceProperties('AWS::IAM::Policy', {
        PolicyDocument: {
          Statement: [
            Match.objectLike({
              Action: [
                'sqs:ReceiveMessage',
                'sqs:DeleteMessage',
                'sqs:ChangeMessageVisibility',
                'sqs:GetQueueAttributes',
              ],
            }),
          ],
        },
      })
      expect(() => ours.grantReceiveTasks('other', ours.functions.Api)).toThrow(
        "'other' is not among the taskTypes: llm",
      )
    })
  })

  it('has no URL for workers where there are no tasks for them', () => {
    template.resourceCountIs('AWS::Lambda::Url', 0)
  })
})
