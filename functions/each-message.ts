import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'

/** Handles each message by itself: SQS delivers only the failed ones again. */
export async function eachMessage(
  { Records }: SQSEvent,
  act: (record: SQSRecord) => Promise<void>,
): Promise<SQSBatchResponse> {
  const outcomes = await Promise.allSettled(Records.map(act))
  const failed = Records.filter((_, i) => outcomes[i]!.status === 'rejected')
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) }
}
