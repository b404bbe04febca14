import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'

/** Each message fails or is done with by itself: SQS brings back only those that failed. */
export async function eachMessage(
  { Records }: SQSEvent,
  act: (record: SQSRecord) => Promise<void>,
): Promise<SQSBatchResponse> {
  const outcomes = await Promise.allSettled(Records.map(act))
  const failed = Records.filter((_, i) => outcomes[i]!.status === 'rejected')
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) }
}
