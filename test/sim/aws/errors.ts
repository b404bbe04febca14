import { DynamoDBServiceException } from '@aws-sdk/client-dynamodb'

/** Every answer of AWS has one. */
export const METADATA = { httpStatusCode: 400, attempts: 1, totalRetryDelay: 0 }

/** DynamoDB has no class of its own for it; the SDK makes such an error from its name. */
export function invalid(message: string): DynamoDBServiceException {
  return new DynamoDBServiceException({ name: 'ValidationException', $fault: 'client', message, $metadata: METADATA })
}
