import { App, CfnOutput, CliCredentialsStackSynthesizer, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { AccountRootPrincipal, Role } from 'aws-cdk-lib/aws-iam'
import { Overwinter, type OverwinterProps } from '../../../infra/overwinter.ts'
import { suitStandIn } from '../suit-stand-in.ts'

/** The workflows that the scenarios of the dashboard play with, deployed; and somebody who may only look. */
const app = new App()
const stack = new Stack(app, 'OverwinterUi', { synthesizer: new CliCredentialsStackSynthesizer() })
const gateway = new TableV2(stack, 'Gateway', {
  partitionKey: { name: 'id', type: AttributeType.STRING },
  removalPolicy: RemovalPolicy.DESTROY,
})
const workflows = new Overwinter(stack, 'Workflows', {
  entry: 'test/ui/workflows.ts',
  api: app.node.tryGetContext('api') as OverwinterProps['api'],
  environment: { GATEWAY_TABLE: gateway.tableName },
  removalPolicy: RemovalPolicy.DESTROY,
})
gateway.grantReadData(workflows)
const reader = new Role(stack, 'Reader', { assumedBy: new AccountRootPrincipal() })
workflows.grantRead(reader)
suitStandIn(stack)
const outputs = {
  ApiId: workflows.api.apiId,
  ApiUrl: workflows.api.apiEndpoint,
  GatewayTable: gateway.tableName,
  ReaderRole: reader.roleArn,
}
for (const [name, value] of Object.entries(outputs)) new CfnOutput(stack, name, { value })
