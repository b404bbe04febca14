import { type Duration, RemovalPolicy } from 'aws-cdk-lib'
import { ManagedPolicy, type PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Architecture, LoggingFormat, type RecursiveLoop, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda'
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs'
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { METRICS_NAMESPACE } from '../functions/metrics.ts'
import { functionFile, withEntry, withoutEntry } from './bundling.ts'
import { grantKey, type KeyUse, keysOf } from './encryption.ts'
import { checkEnvironmentSize } from './environment-size.ts'
import type { FunctionName, OverwinterProps } from './options.ts'

export interface FunctionProps {
  /** The file in functions/, without its ending. */
  handler: string
  description: string
  /** The default, if the user sets none. */
  memory: number
  timeout: Duration
  environment: Record<string, string>
  may: PolicyStatement[]
  /** Whether it contains the user's code, and so needs the settings of that code. */
  loadsEntry?: boolean
  /** How it uses the user's key, if there is one. */
  keyUse?: KeyUse
  reservedConcurrency?: number
  recursiveLoop?: RecursiveLoop
  /** The service of its metrics. Default: the path of its scope. */
  service?: string
}

/** A function with a role and a log group of its own. */
export function createFunction(
  scope: Construct,
  id: FunctionName,
  props: FunctionProps,
  options: OverwinterProps,
): NodejsFunction {
  const logGroup = new LogGroup(scope, `${id}Log`, {
    retention: options.retention?.logs ?? RetentionDays.ONE_MONTH,
    removalPolicy: options.removalPolicy ?? RemovalPolicy.RETAIN,
  })
  const role = new Role(scope, `${id}Role`, {
    assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    description: `Overwinter: ${props.description}`,
  })
  logGroup.grantWrite(role)
  for (const statement of props.may) role.addToPolicy(statement)
  for (const key of keysOf(options)) grantKey(key, role, props.keyUse)
  const { vpc, subnets, securityGroups } = options.vpc ?? {}
  if (vpc) role.addManagedPolicy(ManagedPolicy.fromAwsManagedPolicyName('service-role/AWSLambdaVPCAccessExecutionRole'))
  const handler = new NodejsFunction(scope, id, {
    entry: functionFile(props.handler),
    description: props.description,
    runtime: Runtime.NODEJS_24_X,
    architecture: options.architecture ?? Architecture.ARM_64,
    memorySize: memoryOf(id, options) ?? props.memory,
    timeout: props.timeout,
    reservedConcurrentExecutions: props.reservedConcurrency,
    recursiveLoop: props.recursiveLoop,
    role,
    logGroup,
    loggingFormat: LoggingFormat.JSON,
    tracing: options.tracing === true ? Tracing.ACTIVE : undefined,
    environment: {
      ...props.environment,
      NODE_OPTIONS: '--enable-source-maps',
      POWERTOOLS_METRICS_NAMESPACE: METRICS_NAMESPACE,
      POWERTOOLS_SERVICE_NAME: props.service ?? scope.node.path,
    },
    vpc,
    vpcSubnets: subnets,
    securityGroups,
    layers: props.loadsEntry ? options.layers : undefined,
    bundling: props.loadsEntry ? withEntry(options) : withoutEntry(options),
  })
  checkEnvironmentSize(id, handler)
  return handler
}

function memoryOf(id: FunctionName, { memory }: OverwinterProps): number | undefined {
  if (typeof memory === 'object') return memory[id]
  return id === 'Runner' ? memory : undefined
}
