import {
  App,
  CfnOutput,
  CfnResource,
  CliCredentialsStackSynthesizer,
  Duration,
  RemovalPolicy,
  SecretValue,
  Stack,
} from 'aws-cdk-lib'
import { AttributeType, StreamViewType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { Bucket } from 'aws-cdk-lib/aws-s3'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { StringParameter } from 'aws-cdk-lib/aws-ssm'
import { EventSource, Overwinter, type OverwinterProps } from '../../infra/overwinter.ts'
import { suitStandIn } from './suit-stand-in.ts'
import { addVault } from './vault-stack.ts'

/** The stack that the end-to-end tests deploy: the construct as everybody gets it, but impatient. `-c api=rest` for where there is no other kind of API. */
const app = new App()
const stack = new Stack(app, 'OverwinterE2e', { synthesizer: new CliCredentialsStackSynthesizer() })
const kindOfApi = app.node.tryGetContext('api') as OverwinterProps['api']
const key = { name: 'id', type: AttributeType.STRING }
const orders = new TableV2(stack, 'Orders', { partitionKey: key, removalPolicy: RemovalPolicy.DESTROY })
const strangers = new TableV2(stack, 'Strangers', { partitionKey: key, removalPolicy: RemovalPolicy.DESTROY })
const hush = (text: string) => SecretValue.unsafePlainText(text)
const workflows = new Overwinter(stack, 'Workflows', {
  entry: 'test/e2e/workflows.ts',
  api: kindOfApi,
  environment: { ORDERS: orders.tableName, STRANGERS: strangers.tableName },
  secrets: {
    API_KEY: new Secret(stack, 'ApiKey', { secretStringValue: hush('key of the tests') }),
    DB_PASSWORD: {
      secret: new Secret(stack, 'Database', { secretObjectValue: { user: hush('ada'), password: hush('pa55') } }),
      field: 'password',
    },
    FEATURE: new StringParameter(stack, 'Feature', { parameterName: 'overwinter-e2e-feature', stringValue: 'on' }),
  },
  removalPolicy: RemovalPolicy.DESTROY,
  timeout: Duration.seconds(30),
  maxConcurrency: 10,
  maxAttempts: 3,
  lifecycleEvents: true,
  taskTypes: ['shout', 'native', 'slow', 'research'],
  // From 4 seconds on, a wait is a schedule; the sweeper looks after what is 5 seconds late.
  tuning: { thresholds: { longWaitMs: 4_000, leadMs: 2_000, graceMs: 5_000 }, leaseMs: 6_000 },
})
orders.grantReadWriteData(workflows)
const parcels = {
  queue: new Queue(stack, 'Parcels', { visibilityTimeout: Duration.seconds(30) }),
  topic: new Topic(stack, 'ParcelNews'),
  bucket: new Bucket(stack, 'ParcelLabels', { removalPolicy: RemovalPolicy.DESTROY }),
  table: new TableV2(stack, 'ParcelTable', {
    partitionKey: key,
    dynamoStream: StreamViewType.NEW_AND_OLD_IMAGES,
    removalPolicy: RemovalPolicy.DESTROY,
  }),
}
const parcelFunctions = [
  workflows.startOn(EventSource.bus({ source: ['e2e.parcels'] }), {
    workflow: 'parcel',
    id: 'detail.id',
    input: 'detail',
  }),
  workflows.startOn(EventSource.queue(parcels.queue), 'parcel-queued'),
  workflows.signalOn(EventSource.topic(parcels.topic), { signal: 'arrived', runId: 'message.id', payload: 'message' }),
  workflows.startOn(EventSource.bucket(parcels.bucket, { prefix: 'labels/' }), {
    workflow: 'parcel',
    input: '{ "id": key, "via": eventName }',
  }),
  workflows.cancelOn(EventSource.stream(parcels.table), { runId: 'keys.id', reason: '"item was: " & eventName' }),
]
const { api, table, bucket, wakeups, functions, workersUrl, tasks } = workflows
addVault(stack, kindOfApi)
const notifications = withoutCustomResource()
suitStandIn(stack)
/** Says which Node the stand-in has for functions, in case it is too old for the others. */
const nodeVersion = new LambdaFunction(stack, 'NodeVersion', {
  runtime: Runtime.NODEJS_24_X,
  handler: 'index.handler',
  code: Code.fromInline('exports.handler = async () => process.version'),
})
const outputs = {
  NodeVersionFunction: nodeVersion.functionName,
  ApiId: api.apiId,
  ApiUrl: api.apiEndpoint,
  Table: table.tableName,
  Bucket: bucket.bucketName,
  QueueUrl: wakeups.queue.queueUrl,
  DeadLettersUrl: wakeups.deadLetters.queueUrl,
  SchedulerGroup: wakeups.schedules.scheduleGroupName,
  SchedulesFunction: functions.Schedules.functionName,
  WorkersUrl: workersUrl!,
  NativeQueueUrl: tasks.queues.get('native')!.queueUrl,
  EventDeadLettersUrl: workflows.subscriptions.deadLetters!.queueUrl,
  ParcelQueueUrl: parcels.queue.queueUrl,
  ParcelTopicArn: parcels.topic.topicArn,
  ParcelBucket: parcels.bucket.bucketName,
  ParcelNotifications: notifications,
  ParcelTableName: parcels.table.tableName,
  ParcelQueueFunction: parcelFunctions[1]!.functionName,
}
for (const [name, value] of Object.entries(outputs)) new CfnOutput(stack, name, { value })

/**
 * CDK has a function in Python tell buckets whom to notify, with a library that AWS has and the stand-in has not: a deployment would wait for its word for ever. Whoever deploys
 * this tells the bucket the same, which is returned.
 */
function withoutCustomResource(): string {
  const [resource] = stack.node
    .findAll()
    .filter((each) => CfnResource.isCfnResource(each) && each.cfnResourceType === 'Custom::S3BucketNotifications')
  const told = (
    resource as unknown as { _toCloudFormation(): { Resources: Record<string, object> } }
  )._toCloudFormation()
  const [{ Properties }] = Object.values(stack.resolve(told).Resources) as [
    { Properties: { NotificationConfiguration: object } },
  ]
  for (const { node } of [resource!.node.scope!, ...stack.node.children])
    if (/^(BucketN|N)otifications/.test(node.id)) node.scope!.node.tryRemoveChild(node.id)
  return stack.toJsonString(Properties.NotificationConfiguration)
}
