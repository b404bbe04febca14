import { CfnResource, Stack } from 'aws-cdk-lib'
import type { CfnFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'

const MOST_BYTES = 4_096

/**
 * Lambda gives all variables of a function 4 KB together, and refuses more only during the deployment.
 * Checked last, when all are set.
 */
export function checkEnvironmentSize(name: string, handler: LambdaFunction): void {
  handler.node.addValidation({
    validate() {
      const bytes = environmentBytes(handler)
      if (bytes <= MOST_BYTES) return []
      return [
        `the environment of ${name} takes about ${bytes.toLocaleString('en')} bytes, and Lambda has ${MOST_BYTES.toLocaleString('en')}. Shorten \`environment\` ` +
          '(large values belong into a parameter or an object that a step reads), or have fewer or shorter ' +
          '`taskTypes` and `secrets`',
      ]
    },
  })
}

/** The size as Lambda counts it: as JSON. Names that CloudFormation generates during a deployment are estimated. */
export function environmentBytes(handler: LambdaFunction): number {
  const stack = Stack.of(handler)
  const { variables = {} } = (stack.resolve((handler.node.defaultChild as CfnFunction).environment) ?? {}) as {
    variables?: Record<string, Resolved>
  }
  const resources = new Map(
    stack.node
      .findAll()
      .flatMap((child) =>
        CfnResource.isCfnResource(child) ? [[stack.resolve(child.logicalId) as string, child]] : [],
      ),
  )
  const written = (value: Resolved): string => {
    if (typeof value === 'string') return value
    if ('Fn::Join' in value) return value['Fn::Join'][1].map(written).join(value['Fn::Join'][0])
    const [id, attribute] = 'Ref' in value ? [value.Ref, 'Ref'] : 'Fn::GetAtt' in value ? value['Fn::GetAtt'] : ['', '']
    return 'x'.repeat(lengthOf(stack.stackName, id, attribute, resources.get(id)?.cfnResourceType))
  }
  return Buffer.byteLength(
    JSON.stringify(Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, written(value)]))),
  )
}

type Resolved =
  | string
  | { Ref: string }
  | { 'Fn::GetAtt': [id: string, attribute: string] }
  | { 'Fn::Join': [string, Resolved[]] }

const PSEUDO: Record<string, number> = {
  'AWS::Region': 14,
  'AWS::AccountId': 12,
  'AWS::Partition': 3,
  'AWS::URLSuffix': 13,
}
/** `https://sqs.eu-central-1.amazonaws.com/123456789012/`, `arn:aws:service:eu-central-1:123456789012:kind/` */
const IN_FRONT = 52
/** What CloudFormation shortens names to. */
const LONGEST: Record<string, number> = {
  'AWS::SQS::Queue': 80,
  'AWS::S3::Bucket': 63,
  'AWS::IAM::Role': 64,
  'AWS::SecretsManager::Secret': 200,
}
const HASH = 13

function lengthOf(stackName: string, id: string, attribute: string, type: string | undefined): number {
  if (id in PSEUDO) return PSEUDO[id]!
  const name = Math.min(stackName.length + id.length + HASH + 2, LONGEST[type ?? ''] ?? 128)
  const isWithFront =
    attribute.endsWith('Arn') ||
    (attribute === 'Ref' && (type === 'AWS::SQS::Queue' || type === 'AWS::SecretsManager::Secret'))
  return isWithFront ? name + IN_FRONT : name
}
