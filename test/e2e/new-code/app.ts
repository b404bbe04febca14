import { App, CfnOutput, CliCredentialsStackSynthesizer, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { Overwinter } from '../../../infra/overwinter.ts'
import { fitTheStandIn } from '../fit-the-stand-in.ts'

/** A stack whose code comes and goes. Its runner speaks to SQS by way of the test, which looks at what it says. */
const stack = new Stack(new App(), 'OverwinterNewCode', { synthesizer: new CliCredentialsStackSynthesizer() })
const overwinter = new Overwinter(stack, 'Workflows', {
  entry: process.env.ENTRY!,
  removalPolicy: RemovalPolicy.DESTROY,
  timeout: Duration.seconds(30),
  maxConcurrency: 2,
})
fitTheStandIn(stack, overwinter)
overwinter.functions.Runner.addEnvironment('AWS_ENDPOINT_URL_SQS', process.env.SQS_BY_WAY_OF!)
new CfnOutput(stack, 'ApiId', { value: overwinter.api.apiId })
