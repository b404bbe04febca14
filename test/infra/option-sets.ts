import { Duration, RemovalPolicy } from 'aws-cdk-lib'
import { EndpointType } from 'aws-cdk-lib/aws-apigateway'
import { CorsHttpMethod } from 'aws-cdk-lib/aws-apigatewayv2'
import { TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { InterfaceVpcEndpoint, SecurityGroup, Vpc } from 'aws-cdk-lib/aws-ec2'
import { AccountRootPrincipal, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { Key } from 'aws-cdk-lib/aws-kms'
import { Architecture, LayerVersion } from 'aws-cdk-lib/aws-lambda'
import { Bucket } from 'aws-cdk-lib/aws-s3'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { StringParameter } from 'aws-cdk-lib/aws-ssm'
import { subscribeToAll } from './event-sources.ts'
import type { Props } from './synth.ts'

/** What people may ask of the construct, in sets that go together. Tests of templates use all of them. */
export const OPTION_SETS: Record<string, Props> = {
  'as it comes': () => ({}),
  'without links for callbacks': () => ({ callbacks: false }),
  'with traces of runs, and metrics by workflow': () => ({ tracing: 'cloudwatch', metrics: { workflows: ['orders'] } }),
  'with everything switched on': (stack) => ({
    lifecycleEvents: true,
    taskTypes: ['llm', 'a/b'],
    invokes: ['mailer'],
    kmsKey: new Key(stack, 'Key', { enableKeyRotation: true }),
    tracing: true,
    environment: { STAGE: 'test' },
    secrets: {
      KEY: Secret.fromSecretNameV2(stack, 'Secret', 'shop/key'),
      PASSWORD: { secret: Secret.fromSecretNameV2(stack, 'Database', 'shop/database'), field: 'password' },
      LICENCE: StringParameter.fromSecureStringParameterAttributes(stack, 'Licence', {
        parameterName: '/shop/licence',
      }),
    },
    layers: [LayerVersion.fromLayerVersionArn(stack, 'Layer', 'arn:aws:lambda:eu-north-1:123456789012:layer:fonts:1')],
    cors: {
      allowOrigins: ['https://shop.example'],
      allowMethods: [CorsHttpMethod.ANY],
      allowHeaders: ['authorization', 'content-type'],
    },
  }),
  'in a VPC': (stack) => {
    const vpc = Vpc.fromVpcAttributes(stack, 'Vpc', {
      vpcId: 'vpc-0123456789abcdef0',
      availabilityZones: ['eu-north-1a', 'eu-north-1b'],
      privateSubnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
      privateSubnetRouteTableIds: ['rtb-0123456789abcdef0', 'rtb-0123456789abcdef1'],
    })
    return { vpc: { vpc, securityGroups: [SecurityGroup.fromSecurityGroupId(stack, 'Group', 'sg-0123456789abcdef0')] } }
  },
  'with a token': (stack) => ({ auth: { token: Secret.fromSecretNameV2(stack, 'Token', 'shop/token') } }),
  'with JWTs': () => ({ auth: { jwt: { issuer: 'https://login.example', jwtAudience: ['shop'] } } }),
  'as a REST API': () => ({ api: 'rest' }),
  'as a REST API with a token, and for web pages': (stack) => ({
    api: 'rest',
    auth: { token: Secret.fromSecretNameV2(stack, 'Token', 'shop/token') },
    tracing: true,
    cors: {
      allowOrigins: ['https://shop.example'],
      allowMethods: [CorsHttpMethod.ANY],
      allowHeaders: ['authorization', 'content-type'],
    },
  }),
  'as a private REST API': (stack) => {
    const endpoint = InterfaceVpcEndpoint.fromInterfaceVpcEndpointAttributes(stack, 'Endpoint', {
      vpcEndpointId: 'vpce-0123456789abcdef0',
      port: 443,
    })
    const policy = new PolicyDocument({
      statements: [
        new PolicyStatement({
          principals: [new AccountRootPrincipal()],
          actions: ['execute-api:Invoke'],
          resources: ['execute-api:/*'],
          conditions: { StringEquals: { 'aws:SourceVpce': endpoint.vpcEndpointId } },
        }),
      ],
    })
    return {
      api: { rest: { endpointConfiguration: { types: [EndpointType.PRIVATE], vpcEndpoints: [endpoint] }, policy } },
      callbacks: false,
    }
  },
  'with the runs of an earlier stack': (stack) => ({
    table: TableV2.fromTableAttributes(stack, 'Runs', { tableName: 'OldRuns', globalIndexes: ['due', 'list'] }),
    bucket: Bucket.fromBucketName(stack, 'Payloads', 'old-payloads'),
  }),
  'with events from every source': (stack) => ({
    kmsKey: new Key(stack, 'Key', { enableKeyRotation: true }),
    also: (overwinter) => subscribeToAll(stack, overwinter),
  }),
  'with a workflow for failures': () => ({ onFailure: { workflow: 'tell' } }),
  'with a topic for failures': (stack) => ({
    onFailure: {
      topic: new Topic(stack, 'Failures', {
        enforceSSL: true,
        masterKey: new Key(stack, 'TopicKey', { enableKeyRotation: true }),
      }),
    },
  }),
  'small, and gone without a trace': () => ({
    removalPolicy: RemovalPolicy.DESTROY,
    architecture: Architecture.X86_64,
    memory: { Runner: 256, Api: 256 },
    timeout: Duration.seconds(30),
    reservedConcurrency: 10,
    batchSize: 5,
    maxAttempts: 3,
  }),
}
