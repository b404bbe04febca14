import { App, CfnOutput, CliCredentialsStackSynthesizer, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { CfnUrl } from 'aws-cdk-lib/aws-lambda'
import { CfnBucketPolicy } from 'aws-cdk-lib/aws-s3'
import { CfnQueuePolicy } from 'aws-cdk-lib/aws-sqs'
import { Overwinter } from '../../infra/overwinter.ts'
import { allow } from '../../infra/permissions.ts'

/** The stack that the end-to-end tests deploy: the construct as everybody gets it, but impatient. */
const app = new App()
const stack = new Stack(app, 'OverwinterE2e', { synthesizer: new CliCredentialsStackSynthesizer() })
const { api, table, bucket, wakeups, functions, workersUrl, tasks } = new Overwinter(stack, 'Workflows', {
  entry: 'test/e2e/workflows.ts',
  removalPolicy: RemovalPolicy.DESTROY,
  timeout: Duration.seconds(30),
  maxConcurrency: 10,
  maxAttempts: 3,
  lifecycleEvents: true,
  taskTypes: ['shout', 'native', 'slow', 'research'],
  // From 4 seconds on, a wait is a schedule; the sweeper looks after what is 5 seconds late.
  tuning: { thresholds: { longWaitMs: 4_000, leadMs: 2_000, graceMs: 5_000 }, leaseMs: 6_000 },
})
allowWhatOnlyTheStandInAsksFor()
// The construct lets nobody in without TLS. The stand-in has none, and under AUTH=true it takes policies at their word.
for (const policy of stack.node.findAll()) {
  if (policy instanceof CfnQueuePolicy || policy instanceof CfnBucketPolicy) policy.node.scope!.node.tryRemoveChild(policy.node.id)
}
// The stand-in does not stream: a function says there what it has to say in one piece, as one that is not asked to stream does.
for (const url of stack.node.findAll()) if (url instanceof CfnUrl) url.invokeMode = 'BUFFERED'
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

/** Where MiniStack's idea of a permission is not that of AWS: a schedule's group, and batches as an action of their own. */
function allowWhatOnlyTheStandInAsksFor(): void {
  const schedules = stack.formatArn({ service: 'scheduler', resource: 'schedule', resourceName: 'default/*' })
  for (const { role } of [functions.Runner, functions.Api, functions.Sweeper]) {
    role!.addToPrincipalPolicy(allow(['scheduler:CreateSchedule', 'scheduler:DeleteSchedule'], schedules))
    role!.addToPrincipalPolicy(allow(['sqs:SendMessageBatch'], wakeups.queue.queueArn))
  }
}
