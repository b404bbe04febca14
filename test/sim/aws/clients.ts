import { DynamoDBClient, ProvisionedThroughputExceededException } from '@aws-sdk/client-dynamodb'
import { SchedulerClient, ThrottlingException } from '@aws-sdk/client-scheduler'
import { RequestThrottled, SQSClient } from '@aws-sdk/client-sqs'
import type { TranslateConfig } from '@aws-sdk/lib-dynamodb'
import { isDocumentCommand, marshallInput, unmarshallOutput } from './document-commands.ts'
import type { DynamoDb } from './dynamodb/service.ts'
import { METADATA } from './errors.ts'
import type { Network, ServiceName } from './network.ts'
import type { Scheduler } from './scheduler.ts'
import type { Sqs } from './sqs/service.ts'

/** Nothing of it is used, but without it a client looks for its own in files. */
const NOWHERE = { region: 'memory-1', endpoint: 'http://in.memory', credentials: { accessKeyId: 'none', secretAccessKey: 'none' }, maxAttempts: 1 }
const OK = { $metadata: { ...METADATA, httpStatusCode: 200 } }

/** A DynamoDBClient over a DynamoDB in memory, for document clients and for commands with marshalled values. */
export function dynamoDbClient(dynamodb: DynamoDb, network: Network): DynamoDBClient {
  const client = new DynamoDBClient(NOWHERE)
  const config = client.config as { translateConfig?: TranslateConfig }
  answerFromMemory(client.middlewareStack as never, async ({ name, input, command }) => {
    const isDocument = isDocumentCommand(command)
    const marshalled = isDocument ? marshallInput(name, input, config.translateConfig) : input
    const request = name === 'TransactWriteItemsCommand' ? { ClientRequestToken: network.token(), ...marshalled } : marshalled
    const carryOut = commandOf<object>(dynamodb.commands, 'dynamodb', name)
    const output = await network.call({ service: 'dynamodb', command: name, input: request }, () => carryOut(request), throttledDynamoDb)
    return isDocument ? unmarshallOutput(name, output, config.translateConfig) : output
  })
  return client
}

export function sqsClient(sqs: Sqs, network: Network): SQSClient {
  const client = new SQSClient(NOWHERE)
  answerFromMemory(client.middlewareStack as never, ({ name, input, abortSignal }) => {
    const carryOut = commandOf<object>(sqs.commands, 'sqs', name)
    return network.call({ service: 'sqs', command: name, input }, () => carryOut(input, abortSignal), throttledSqs)
  })
  return client
}

export function schedulerClient(scheduler: Scheduler, network: Network): SchedulerClient {
  const client = new SchedulerClient(NOWHERE)
  answerFromMemory(client.middlewareStack as never, ({ name, input }) => {
    const request = name === 'CreateScheduleCommand' ? { ClientToken: network.token(), ...input } : input
    const carryOut = commandOf<object>(scheduler.commands, 'scheduler', name)
    return network.call({ service: 'scheduler', command: name, input: request }, () => carryOut(request), throttledScheduler)
  })
  return client
}

interface Call {
  name: string
  input: object
  command: { middlewareStack: { remove(name: string): boolean } }
  abortSignal: AbortSignal | undefined
}

interface Stack {
  identify(): string[]
  remove(name: string): boolean
  add(middleware: unknown, options: object): void
}

/** What the document client hooks its own middleware to; it is never reached. */
const ANCHORS = ['serializerMiddleware', 'deserializerMiddleware']

/**
 * Puts the answer at the very beginning of the stack, where no serializer, signer, retry or timer has been reached yet,
 * and takes away what would never run: resolving the stack is most of what a call costs.
 */
function answerFromMemory(stack: Stack, answer: (call: Call) => Promise<object>): void {
  for (const line of stack.identify()) {
    const [name] = line.split(/ - | \(/)
    if (!ANCHORS.includes(name!)) stack.remove(name!)
  }
  const middleware = (_next: unknown, context: { commandName: string; __smithy_context: { commandInstance: Call['command']; abortSignal?: AbortSignal } }) => {
    const { commandInstance: command, abortSignal } = context.__smithy_context
    return async ({ input }: { input: object }) => {
      const output = await answer({ name: context.commandName, input, command, abortSignal })
      return { response: {}, output: { ...output, ...OK } }
    }
  }
  stack.add(middleware, { step: 'initialize', priority: 'high', name: 'answerFromMemory' })
}

type CarryOut<I> = (input: I, signal?: AbortSignal) => object | Promise<object>

function commandOf<I>(commands: Record<string, unknown>, service: ServiceName, name: string): CarryOut<I> {
  const command = commands[name] as CarryOut<I> | undefined
  if (!command) throw new Error(`${service} in memory does not know ${name}; add it to its \`commands\``)
  return command
}

const throttledDynamoDb = () =>
  new ProvisionedThroughputExceededException({ message: 'The level of configured provisioned throughput for the table was exceeded.', $metadata: METADATA })

const throttledSqs = () => new RequestThrottled({ message: 'Rate exceeded.', $metadata: METADATA })

const throttledScheduler = () => new ThrottlingException({ Message: 'Rate exceeded', message: 'Rate exceeded', $metadata: METADATA })
