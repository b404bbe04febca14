import { App, CfnOutput, CliCredentialsStackSynthesizer, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { Overwinter } from '../../../infra/overwinter.ts'
import { suitStandIn } from '../suit-stand-in.ts'

/** A stack whose code comes and goes. Its runner speaks to SQS by way of the test, which looks at what it says. */
const app = new App()
const stack = new Stack(app, 'OverwinterNewCode', { synthesizer: new CliCredentialsStackSynthesizer() })
const overwinter = new Overwinter(stack, 'Workflows', {
  entry: app.node.getContext('entry') as string,
  removalPolicy: RemovalPolicy.DESTROY,
  timeout: Duration.seconds(30),
  maxConcurrency: 2,
})
suitStandIn(stack)
overwinter.functions.Runner.addEnvironment('AWS_ENDPOINT_URL_SQS', app.node.getContext('sqs') as string)
new CfnOutput(stack, 'ApiId', { value: overwinter.api.apiId })
new CfnOutput(stack, 'ApiUrl', { value: overwinter.api.apiEndpoint })
