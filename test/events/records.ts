/** Records as Lambda hands them to a function, by their sources. */

const AT = Date.UTC(2026, 0, 1)
const ACCOUNT = 'eu-north-1:123456789012'

export function queueRecord(
  messageId: string,
  body: string,
  {
    group,
    queue = 'orders',
    receives = 1,
    at = AT,
  }: { group?: string; queue?: string; receives?: number; at?: number } = {},
) {
  return {
    messageId,
    receiptHandle: 'r',
    body,
    attributes: {
      ApproximateReceiveCount: String(receives),
      SentTimestamp: String(at),
      SenderId: 'x',
      ApproximateFirstReceiveTimestamp: String(at),
      ...(group !== undefined && { MessageGroupId: group }),
    },
    messageAttributes: { kind: { stringValue: 'new', dataType: 'String' } },
    md5OfBody: 'x',
    eventSource: 'aws:sqs',
    eventSourceARN: `arn:aws:sqs:${ACCOUNT}:${queue}`,
    awsRegion: 'eu-north-1',
  }
}

export function topicRecord(MessageId: string, Message: string) {
  const Sns = {
    Type: 'Notification',
    MessageId,
    TopicArn: `arn:aws:sns:${ACCOUNT}:orders`,
    Subject: 'new',
    Message,
    Timestamp: new Date(AT).toISOString(),
    MessageAttributes: { kind: { Type: 'String', Value: 'new' } },
  }
  return { EventVersion: '1.0', EventSubscriptionArn: 'x', EventSource: 'aws:sns', Sns }
}

export function bucketRecord(key: string, sequencer: string) {
  return {
    eventVersion: '2.1',
    eventSource: 'aws:s3',
    awsRegion: 'eu-north-1',
    eventTime: new Date(AT).toISOString(),
    eventName: 'ObjectCreated:Put',
    s3: { bucket: { name: 'uploads', arn: 'arn:aws:s3:::uploads' }, object: { key, size: 3, eTag: 'abc', sequencer } },
  }
}

export function streamRecord(eventID: string, eventName: string, images: object = {}, id = 'o-1') {
  return {
    eventID,
    eventName,
    eventSource: 'aws:dynamodb',
    dynamodb: {
      ApproximateCreationDateTime: AT / 1_000,
      Keys: { id: { S: id } },
      SequenceNumber: `at ${eventID}`,
      ...images,
    },
    eventSourceARN: `arn:aws:dynamodb:${ACCOUNT}:table/Orders/stream/2026-01-01T00:00:00.000`,
  }
}
