import { App, CfnOutput, CfnResource, CliCredentialsStackSynthesizer, Duration, RemovalPolicy, SecretValue, Stack } from 'aws-cdk-lib'
import { CfnAlarm } from 'aws-cdk-lib/aws-cloudwatch'
import { AttributeType, StreamViewType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { CfnUrl } from 'aws-cdk-lib/aws-lambda'
import { Bucket, CfnBucketPolicy } from 'aws-cdk-lib/aws-s3'
import { type ISecret, Secret, type SecretProps } from 'aws-cdk-lib/aws-secretsmanager'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { CfnQueuePolicy, Queue } from 'aws-cdk-lib/aws-sqs'
import { StringParameter } from 'aws-cdk-lib/aws-ssm'
import { EventSource, Overwinter } from '../../infra/overwinter.ts'
import { allow } from '../../infra/permissions.ts'
import { addVault } from './vault-stack.ts'

/** The stack that the end-to-end tests deploy: the construct as everybody gets it, but impatient. */
const app = new App()
const stack = new Stack(app, 'OverwinterE2e', { synthesizer: new CliCredentialsStackSynthesizer() })
const key = { name: 'id', type: AttributeType.STRING }
const orders = new TableV2(stack, 'Orders', { partitionKey: key, removalPolicy: RemovalPolicy.DESTROY })
const strangers = new TableV2(stack, 'Strangers', { partitionKey: key, removalPolicy: RemovalPolicy.DESTROY })
const hush = (text: string) => SecretValue.unsafePlainText(text)
/** By its name, as one that another stack owns: on the stand-in a reference to a secret is not its ARN. */
function secretOf(id: string, value: SecretProps): ISecret {
  const secretName = `overwinter-e2e/${id}`
  new Secret(stack, id, { secretName, ...value })
  return Secret.fromSecretNameV2(stack, `${id}ByName`, secretName)
}
const workflows = new Overwinter(stack, 'Workflows', {
  entry: 'test/e2e/workflows.ts',
  environment: { ORDERS: orders.tableName, STRANGERS: strangers.tableName },
  secrets: {
    API_KEY: secretOf('ApiKey', { secretStringValue: hush('key of the tests') }),
    DB_PASSWORD: { secret: secretOf('Database', { secretObjectValue: { user: hush('ada'), password: hush('pa55') } }), field: 'password' },
    FEATURE: new StringParameter(stack, 'Feature', { stringValue: 'on' }),
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
  table: new TableV2(stack, 'ParcelTable', { partitionKey: key, dynamoStream: StreamViewType.NEW_AND_OLD_IMAGES, removalPolicy: RemovalPolicy.DESTROY }),
}
const parcelFunctions = [
  workflows.startOn(EventSource.bus({ source: ['e2e.parcels'] }), { workflow: 'parcel', id: 'detail.id', input: 'detail' }),
  workflows.startOn(EventSource.queue(parcels.queue), 'parcel-queued'),
  workflows.signalOn(EventSource.topic(parcels.topic), { signal: 'arrived', runId: 'message.id', payload: 'message' }),
  workflows.startOn(EventSource.bucket(parcels.bucket, { prefix: 'labels/' }), { workflow: 'parcel', input: '{ "id": key, "via": eventName }' }),
  workflows.cancelOn(EventSource.stream(parcels.table), { runId: 'keys.id', reason: '"item was: " & eventName' }),
]
const { api, table, bucket, wakeups, functions, workersUrl, tasks } = workflows
const vault = addVault(stack)
allowWhatOnlyTheStandInAsksFor()
// The construct lets nobody in without TLS. The stand-in has none, and under AUTH=true it takes policies at their word.
for (const policy of stack.node.findAll()) {
  if (policy instanceof CfnQueuePolicy || policy instanceof CfnBucketPolicy) policy.node.scope!.node.tryRemoveChild(policy.node.id)
}
// Nor does it calculate with metrics.
for (const alarm of stack.node.findAll()) if (alarm instanceof CfnAlarm && alarm.metrics) alarm.node.scope!.node.tryRemoveChild(alarm.node.id)
// The stand-in does not stream: a function says there what it has to say in one piece, as one that is not asked to stream does.
for (const url of stack.node.findAll()) if (url instanceof CfnUrl) url.invokeMode = 'BUFFERED'
const notifications = withoutCustomResource()
const outputs = {
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
  const [resource] = stack.node.findAll().filter((each) => CfnResource.isCfnResource(each) && each.cfnResourceType === 'Custom::S3BucketNotifications')
  const told = (resource as unknown as { _toCloudFormation(): { Resources: Record<string, object> } })._toCloudFormation()
  const [{ Properties }] = Object.values(stack.resolve(told).Resources) as [{ Properties: { NotificationConfiguration: object } }]
  for (const { node } of [resource!.node.scope!, ...stack.node.children]) if (/^(BucketN|N)otifications/.test(node.id)) node.scope!.node.tryRemoveChild(node.id)
  return stack.toJsonString(Properties.NotificationConfiguration)
}

/** Where MiniStack's idea of a permission is not that of AWS: a schedule's group, batches as an action of their own, and parameters that are asked for together. */
function allowWhatOnlyTheStandInAsksFor(): void {
  functions.Runner.addToRolePolicy(allow(['ssm:GetParameters'], '*'))
  const schedules = stack.formatArn({ service: 'scheduler', resource: 'schedule', resourceName: 'default/*' })
  for (const { role } of [functions.Runner, functions.Api, functions.Sweeper, ...parcelFunctions]) {
    role!.addToPrincipalPolicy(allow(['scheduler:CreateSchedule', 'scheduler:DeleteSchedule'], schedules))
    role!.addToPrincipalPolicy(allow(['sqs:SendMessageBatch'], wakeups.queue.queueArn))
  }
  const { Runner, Api, Sweeper } = vault.functions
  for (const { role } of [Runner, Api, Sweeper]) role!.addToPrincipalPolicy(allow(['sqs:SendMessageBatch'], vault.wakeups.queue.queueArn))
}
