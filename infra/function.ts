import { extname, join, resolve } from 'node:path'
import { type Duration, RemovalPolicy } from 'aws-cdk-lib'
import { ManagedPolicy, type PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Architecture, LoggingFormat, Runtime } from 'aws-cdk-lib/aws-lambda'
import { type BundlingOptions, NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs'
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { METRICS_NAMESPACE } from '../functions/metrics.ts'
import type { OverwinterProps } from './options.ts'

export interface FunctionProps {
  /** The file in functions/, without its ending. */
  handler: string
  description: string
  memory: number
  timeout: Duration
  environment: Record<string, string>
  may: PolicyStatement[]
  reservedConcurrency?: number
}

/** A function with a role and a log group of its own. */
export function createFunction(scope: Construct, id: string, props: FunctionProps, options: OverwinterProps): NodejsFunction {
  const logGroup = new LogGroup(scope, `${id}Log`, {
    retention: options.retention?.logs ?? RetentionDays.ONE_MONTH,
    removalPolicy: options.removalPolicy ?? RemovalPolicy.RETAIN,
  })
  const role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com'), description: `Overwinter: ${props.description}` })
  logGroup.grantWrite(role)
  for (const statement of props.may) role.addToPolicy(statement)
  options.kmsKey?.grantEncryptDecrypt(role)
  options.kmsKey?.grant(role, 'kms:DescribeKey')
  const { vpc, subnets, securityGroups } = options.vpc ?? {}
  if (vpc) role.addManagedPolicy(ManagedPolicy.fromAwsManagedPolicyName('service-role/AWSLambdaVPCAccessExecutionRole'))
  return new NodejsFunction(scope, id, {
    entry: functionFile(props.handler),
    description: props.description,
    runtime: Runtime.NODEJS_24_X,
    architecture: options.architecture ?? Architecture.ARM_64,
    memorySize: props.memory,
    timeout: props.timeout,
    reservedConcurrentExecutions: props.reservedConcurrency,
    role,
    logGroup,
    loggingFormat: LoggingFormat.JSON,
    environment: {
      ...props.environment,
      NODE_OPTIONS: '--enable-source-maps',
      POWERTOOLS_METRICS_NAMESPACE: METRICS_NAMESPACE,
      POWERTOOLS_SERVICE_NAME: scope.node.path,
    },
    vpc,
    vpcSubnets: subnets,
    securityGroups,
    bundling: bundlingOf(options.entry),
  })
}

/** In the package the built files are bundled: the sources are not there, and two copies of the library would not know each other's errors. */
const ENDING = extname(import.meta.filename)
const isFromSource = ENDING === '.ts'

/** A file in functions/, by its name. */
const functionFile = (name: string): string => join(import.meta.dirname, `../functions/${name}${ENDING}`)

function bundlingOf(entry: string): BundlingOptions {
  return {
    format: OutputFormat.ESM,
    target: 'node24',
    minify: true,
    sourceMap: true,
    sourcesContent: false,
    // Some packages have a CommonJS build that an ESM bundle cannot load.
    mainFields: ['module', 'main'],
    // What Lambda has of the AWS SDK changes under our feet and starts more slowly.
    bundleAwsSDK: true,
    // The SDK loads it for calls that answer in a stream of events, of which there are none here.
    externalModules: ['@smithy/core/event-streams'],
    esbuildArgs: {
      '--alias:overwinter-workflows': resolve(entry),
      '--alias:@aws-sdk/credential-provider-node': functionFile('lambda-credentials'),
      '--alias:@smithy/core/event-streams': functionFile('left-out-of-aws-sdk'),
      '--alias:@aws-sdk/middleware-endpoint-discovery': functionFile('left-out-of-aws-sdk'),
      // `module` would be lost if it were not named.
      '--conditions': isFromSource ? 'overwinter-source,module' : 'module',
    },
  }
}
