import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { S3Client } from '@aws-sdk/client-s3'
import { SchedulerClient } from '@aws-sdk/client-scheduler'
import { SQSClient } from '@aws-sdk/client-sqs'

export interface AwsClients {
  dynamodb: DynamoDBClient
  sqs: SQSClient
  scheduler: SchedulerClient
  s3: S3Client
}

/**
 * Throttling, 5xx and lost answers are the SDK's to repeat, with jitter; every write here can bear it. A call that hangs
 * is given up early: the next attempt is likely to meet a healthy host.
 */
const patient = (requestTimeout: number) => ({
  maxAttempts: 8,
  requestHandler: { connectionTimeout: 1_000, requestTimeout, throwOnRequestTimeout: true },
})
const SMALL_CALLS = patient(5_000)
/** Payloads of megabytes take their time. */
const LARGE_CALLS = patient(30_000)

/** Where these clients go is said by the environment alone (AWS_ENDPOINT_URL, AWS_REGION, credentials). */
export function awsClients(): AwsClients {
  const hasEndpoint = process.env.AWS_ENDPOINT_URL !== undefined || process.env.AWS_ENDPOINT_URL_S3 !== undefined
  return {
    dynamodb: new DynamoDBClient(SMALL_CALLS),
    sqs: new SQSClient(SMALL_CALLS),
    scheduler: new SchedulerClient(SMALL_CALLS),
    // Stand-ins have no host name per bucket.
    s3: new S3Client({ ...LARGE_CALLS, forcePathStyle: hasEndpoint }),
  }
}
