import { Duration, type Stack, Validations } from 'aws-cdk-lib'
import { AttributeType, StreamViewType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { FilterCriteria, FilterRule } from 'aws-cdk-lib/aws-lambda'
import { BlockPublicAccess, Bucket } from 'aws-cdk-lib/aws-s3'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { EventSource, type Overwinter } from '../../infra/overwinter.ts'

export function streamed(stack: Stack): TableV2 {
  return new TableV2(stack, 'Shop', {
    partitionKey: { name: 'id', type: AttributeType.STRING },
    dynamoStream: StreamViewType.NEW_AND_OLD_IMAGES,
  })
}

/** Every kind of source, and every kind of mapping, as somebody's stack may have them. */
export function subscribeToAll(stack: Stack, overwinter: Overwinter): void {
  const failed = new Queue(stack, 'Failed', { enforceSSL: true })
  const orders = new Queue(stack, 'Orders', {
    enforceSSL: true,
    deadLetterQueue: { queue: failed, maxReceiveCount: 4 },
  })
  const news = new Topic(stack, 'News', { enforceSSL: true })
  const uploads = new Bucket(stack, 'Uploads', { enforceSSL: true, blockPublicAccess: BlockPublicAccess.BLOCK_ALL })
  const shop = streamed(stack)
  overwinter.startOn(EventSource.bus({ source: ['shop'], detailType: ['OrderPlaced'] }), {
    workflow: 'order',
    id: 'detail.id',
    input: 'detail',
  })
  overwinter.startOn(EventSource.queue(orders), 'order-queued', { patience: Duration.hours(1) })
  overwinter.signalOn(EventSource.topic(news), { signal: 'paid', runId: 'message.id', payload: 'message' })
  overwinter.startOn(EventSource.bucket(uploads, { prefix: 'in/' }), { workflow: 'import', input: '$' })
  const removed = FilterCriteria.filter({ eventName: FilterRule.isEqual('REMOVE') })
  overwinter.cancelOn(EventSource.stream(shop, { filters: [removed] }), { runId: 'keys.id', reason: '"removed"' })
  acknowledgeWhatIsNotOurs(stack, [failed, uploads, shop])
}

const BASIC_EXECUTION =
  'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]'

/** cdk-nag looks at the whole stack: at the sources, which are the user's, and at the function with which CDK tells buckets whom to notify. */
function acknowledgeWhatIsNotOurs(stack: Stack, theirs: (Queue | Bucket | TableV2)[]): void {
  const handler = stack.node.children.filter(({ node }) => node.id.startsWith('BucketNotificationsHandler'))
  const ids = [
    'AwsSolutions-SQS3',
    'AwsSolutions-S1',
    'AwsSolutions-DDB3',
    'AwsSolutions-L1',
    BASIC_EXECUTION,
    'AwsSolutions-IAM5[Resource::*]',
  ]
  for (const each of [...theirs, ...handler])
    for (const id of ids) Validations.of(each).acknowledge({ id, reason: 'not of the construct' })
}
