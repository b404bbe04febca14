import { Stack, Validations } from 'aws-cdk-lib'
import type { RestApi } from 'aws-cdk-lib/aws-apigateway'
import type { IConstruct } from 'constructs'
import type { Overwinter } from './overwinter.ts'
import { schedulesIn } from './permissions.ts'

/** The findings of cdk-nag's AwsSolutions rules, and why they stay. */
export function acknowledgeFindings(overwinter: Overwinter, open: readonly IConstruct[]): void {
  const { bucket, wakeups } = overwinter
  const why = (id: string, reason: string) =>
    Validations.of(overwinter).acknowledge({ id: `AwsSolutions-${id}`, reason })
  why(
    'S1',
    'Only two functions reach the payloads, and their calls are in CloudTrail if the account records data ' +
      'events; access logs would double the writes.',
  )
  why(
    `IAM5[Resource::${asFinding(overwinter, bucket.arnForObjects('*'))}]`,
    "The names of payloads are hashes; every object of this bucket is a run's.",
  )
  why(
    `IAM5[Resource::${asFinding(overwinter, schedulesIn(wakeups))}]`,
    'A schedule is named after the run and the time; the group holds nothing else.',
  )
  for (const action of ['ReEncrypt*', 'GenerateDataKey*'])
    why(
      `IAM5[Action::kms:${action}]`,
      'With a key of your own, DynamoDB needs both forms of these actions; they apply to this key alone.',
    )
  why(
    'IAM5[Resource::*]',
    'X-Ray takes traces from any caller with this permission; it has no resources to name. No other statement ' +
      'of the construct is so wide.',
  )
  why(
    'IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole]',
    "In a VPC, Lambda makes network interfaces in the function's name; AWS keeps the list of what that takes.",
  )
  for (const route of open)
    acknowledgeOpen(
      route,
      'The token in the path is the authorization: signed for one answer to one question, and refused once it ' +
        'has served. Throttled apart from the rest.',
    )
  why(
    'SQS3',
    'A queue for what the stream could not deliver is itself a dead-letter queue, which cdk-nag cannot tell ' +
      'from the template.',
  )
}

/** A route that needs no authorization. */
export function acknowledgeOpen(route: IConstruct, reason: string): void {
  for (const id of ['APIG4', 'COG4']) Validations.of(route).acknowledge({ id: `AwsSolutions-${id}`, reason })
}

/** Findings that the rules report for every REST API. */
export function acknowledgeRestApi(rest: RestApi): void {
  const why = (id: string, reason: string) => Validations.of(rest).acknowledge({ id: `AwsSolutions-${id}`, reason })
  why('APIG2', 'The function checks each request, and says all that is wrong with it.')
  why(
    'APIG3',
    'Which rules a firewall has is for its owner to say: `workflows.api.rest` has the stage that they are for.',
  )
  why(
    'APIG6',
    'Execution logs have paths in them, and so the tokens of callbacks. The access log and the log of the ' +
      'function say what happened.',
  )
  why('COG4', 'IAM or tokens with scopes decide who may call; users of a pool are for an HTTP API, which knows JWTs.')
  why(
    'IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]',
    'The role through which API Gateway writes the logs of an account; AWS keeps the list of what that takes.',
  )
}

/** An ARN as cdk-nag writes it: `<LogicalId.Arn>/*`. */
function asFinding(overwinter: Overwinter, arn: string): string {
  return flatten(Stack.of(overwinter).resolve(arn))
}

type Resolved = string | { Ref: string } | { 'Fn::GetAtt': string[] } | { 'Fn::Join': [string, Resolved[]] }

function flatten(value: Resolved): string {
  if (typeof value === 'string') return value
  if ('Ref' in value) return `<${value.Ref}>`
  if ('Fn::GetAtt' in value) return `<${value['Fn::GetAtt'].join('.')}>`
  const [separator, parts] = value['Fn::Join']
  return parts.map(flatten).join(separator)
}
