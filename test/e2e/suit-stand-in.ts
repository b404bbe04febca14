import type { Stack } from 'aws-cdk-lib'
import { CfnAlarm, CfnDashboard } from 'aws-cdk-lib/aws-cloudwatch'
import { CfnUrl } from 'aws-cdk-lib/aws-lambda'

/** Takes out of a stack what one of the stand-ins cannot do, and no test needs. Permissions stay as they are. */
export function suitStandIn(stack: Stack): void {
  for (const part of stack.node.findAll()) {
    // LocalStack has none.
    if (part instanceof CfnDashboard) part.node.scope!.node.tryRemoveChild(part.node.id)
    // They do not calculate with metrics.
    if (part instanceof CfnAlarm && part.metrics) part.node.scope!.node.tryRemoveChild(part.node.id)
    // Nor do they stream: a function says there what it has to say in one piece, as one that is not asked to stream does.
    if (part instanceof CfnUrl) part.invokeMode = 'BUFFERED'
  }
}
