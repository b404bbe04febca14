import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { SchedulerClient as Scheduler } from '@aws-sdk/client-scheduler'
import type { SQSClient as Sqs } from '@aws-sdk/client-sqs'
import { SchedulerClient } from '#aws/scheduler'
import { SQSClient } from '#aws/sqs'

export interface AwsClients {
  dynamodb: DynamoDBClient
  sqs: Sqs
  scheduler: Scheduler
}

/**
 * The SDK retries throttling, 5xx and lost answers, with jitter; every write here is safe to
 * repeat. A call that hangs times out early: the next attempt is likely to meet a healthy host.
 */
const PATIENT = {
  maxAttempts: 8,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
}

/** The environment alone says where these clients connect (AWS_ENDPOINT_URL, AWS_REGION, credentials). */
export function awsClients(): AwsClients {
  return { dynamodb: new DynamoDBClient(PATIENT), sqs: new SQSClient(PATIENT), scheduler: new SchedulerClient(PATIENT) }
}
