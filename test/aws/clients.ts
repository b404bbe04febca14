import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { Scheduler } from '@aws-sdk/client-scheduler'
import { SQS } from '@aws-sdk/client-sqs'
import { type AwsClients, PATIENT, PATIENT_SQS } from '../../sdk/worlds/aws/clients.ts'

/** As the AWS world makes them, all at once: what watches or spoils their calls has to be there before the first. */
export function awsClients(): AwsClients {
  return { dynamodb: new DynamoDBClient(PATIENT), sqs: new SQS(PATIENT_SQS), scheduler: new Scheduler(PATIENT) }
}
