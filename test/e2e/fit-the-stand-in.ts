import type { Stack } from 'aws-cdk-lib'
import { CfnAlarm } from 'aws-cdk-lib/aws-cloudwatch'
import { CfnUrl } from 'aws-cdk-lib/aws-lambda'
import { CfnBucketPolicy } from 'aws-cdk-lib/aws-s3'
import { CfnQueuePolicy } from 'aws-cdk-lib/aws-sqs'
import type { Overwinter } from '../../infra/overwinter.ts'
import { allow } from '../../infra/permissions.ts'

/** Where MiniStack is not AWS, the stack is made to suit it. */
export function fitTheStandIn(stack: Stack, overwinter: Overwinter): void {
  allowWhatOnlyTheStandInAsksFor(stack, overwinter)
  for (const each of stack.node.findAll()) {
    // The construct lets nobody in without TLS. The stand-in has none, and under AUTH=true it takes policies at their word.
    const isPolicy = each instanceof CfnQueuePolicy || each instanceof CfnBucketPolicy
    // Nor does it calculate with metrics.
    const isCalculated = each instanceof CfnAlarm && each.metrics
    if (isPolicy || isCalculated) each.node.scope!.node.tryRemoveChild(each.node.id)
    // It does not stream: a function says there what it has to say in one piece, as one that is not asked to stream does.
    if (each instanceof CfnUrl) each.invokeMode = 'BUFFERED'
  }
}

/** Where its idea of a permission is not that of AWS: a schedule's group, batches as an action of their own, and parameters that are asked for together. */
function allowWhatOnlyTheStandInAsksFor(stack: Stack, { functions, wakeups }: Overwinter): void {
  functions.Runner.addToRolePolicy(allow(['ssm:GetParameters'], '*'))
  const schedules = stack.formatArn({ service: 'scheduler', resource: 'schedule', resourceName: 'default/*' })
  for (const { role } of [functions.Runner, functions.Api, functions.Sweeper]) {
    role!.addToPrincipalPolicy(allow(['scheduler:CreateSchedule', 'scheduler:DeleteSchedule'], schedules))
    role!.addToPrincipalPolicy(allow(['sqs:SendMessageBatch'], wakeups.queue.queueArn))
  }
}
