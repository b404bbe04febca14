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
 * Throttling, 5xx and lost answers are the SDK's to repeat, with jitter; every write here can bear it. A call that hangs
 * is given up early: the next attempt is likely to meet a healthy host.
 */
const PATIENT = {
  maxAttempts: 8,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
}

/** Where these clients go is said by the environment alone (AWS_ENDPOINT_URL, AWS_REGION, credentials). */
export function awsClients(): AwsClients {
  return { dynamodb: new DynamoDBClient(PATIENT), sqs: new SQSClient(PATIENT), scheduler: new SchedulerClient(PATIENT) }
}
