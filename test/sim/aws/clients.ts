import { DynamoDBClient, ProvisionedThroughputExceededException } from '@aws-sdk/client-dynamodb'
import { Scheduler as SchedulerClient, ThrottlingException } from '@aws-sdk/client-scheduler'
import { RequestThrottled, SQS as SQSClient } from '@aws-sdk/client-sqs'
import type { TranslateConfig } from '@aws-sdk/lib-dynamodb'
import { isDocumentCommand, marshallInput, unmarshallOutput } from './document-commands.ts'
import type { DynamoDb } from './dynamodb/service.ts'
import { METADATA } from './errors.ts'
import { answerFromMemory, likeness, stripped } from './memory-client.ts'
import type { Network, ServiceName } from './network.ts'
import type { Scheduler } from './scheduler.ts'
import type { Sqs } from './sqs/service.ts'

/** Nothing of it is used, but without it a client looks for its own in files. */
const NOWHERE = {
  region: 'memory-1',
  endpoint: 'http://in.memory',
  credentials: { accessKeyId: 'none', secretAccessKey: 'none' },
  maxAttempts: 1,
}

const DYNAMODB = stripped(new DynamoDBClient(NOWHERE))
const ASK_SQS = stripped(new SQSClient(NOWHERE))
const SCHEDULER = stripped(new SchedulerClient(NOWHERE))

/** A DynamoDBClient over a DynamoDB in memory, for document clients and for commands with marshalled values. */
export function dynamoDbClient(dynamodb: DynamoDb, network: Network): DynamoDBClient {
  const client = likeness(DYNAMODB)
  const config = client.config as { translateConfig?: TranslateConfig }
  answerFromMemory(client, async ({ name, input, command }) => {
    const isDocument = isDocumentCommand(command)
    const marshalled = isDocument ? marshallInput(name, input, config.translateConfig) : input
    const request =
      name === 'TransactWriteItemsCommand' ? { ClientRequestToken: network.token(), ...marshalled } : marshalled
    const carryOut = commandOf<object>(dynamodb.commands, 'dynamodb', name)
    const output = await network.call(
      { service: 'dynamodb', command: name, input: request },
      () => carryOut(request),
      throttledDynamoDb,
    )
    return isDocument ? unmarshallOutput(name, output, config.translateConfig) : output
  })
  return client
}

export function sqsClient(sqs: Sqs, network: Network): SQSClient {
  const client = likeness(ASK_SQS)
  answerFromMemory(client, ({ name, input, abortSignal }) => {
    const carryOut = commandOf<object>(sqs.commands, 'sqs', name)
    return network.call({ service: 'sqs', command: name, input }, () => carryOut(input, abortSignal), throttledSqs)
  })
  return client
}

export function schedulerClient(scheduler: Scheduler, network: Network): SchedulerClient {
  const client = likeness(SCHEDULER)
  answerFromMemory(client, ({ name, input }) => {
    const request = name === 'CreateScheduleCommand' ? { ClientToken: network.token(), ...input } : input
    const carryOut = commandOf<object>(scheduler.commands, 'scheduler', name)
    return network.call(
      { service: 'scheduler', command: name, input: request },
      () => carryOut(request),
      throttledScheduler,
    )
  })
  return client
}

type CarryOut<I> = (input: I, signal?: AbortSignal) => object | Promise<object>

function commandOf<I>(commands: Record<string, unknown>, service: ServiceName, name: string): CarryOut<I> {
  const command = commands[name] as CarryOut<I> | undefined
  if (!command) throw new Error(`${service} in memory does not know ${name}; add it to its \`commands\``)
  return command
}

const throttledDynamoDb = () =>
  new ProvisionedThroughputExceededException({
    message: 'The level of configured provisioned throughput for the table was exceeded.',
    $metadata: METADATA,
  })

const throttledSqs = () => new RequestThrottled({ message: 'Rate exceeded.', $metadata: METADATA })

const throttledScheduler = () =>
  new ThrottlingException({ Message: 'Rate exceeded', message: 'Rate exceeded', $metadata: METADATA })
