import { App, CfnOutput, CliCredentialsStackSynthesizer, Duration, RemovalPolicy, SecretValue, Stack } from 'aws-cdk-lib'
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { type ISecret, Secret, type SecretProps } from 'aws-cdk-lib/aws-secretsmanager'
import { StringParameter } from 'aws-cdk-lib/aws-ssm'
import { Overwinter } from '../../infra/overwinter.ts'
import { fitTheStandIn } from './fit-the-stand-in.ts'

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
const { api, table, bucket, wakeups, functions, workersUrl, tasks } = workflows
fitTheStandIn(stack, workflows)
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
}
for (const [name, value] of Object.entries(outputs)) new CfnOutput(stack, name, { value })
