import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { Scheduler } from '@aws-sdk/client-scheduler'
import type { SQS } from '@aws-sdk/client-sqs'

/** Clients that are there from the beginning. */
export interface AwsClients {
  dynamodb: DynamoDBClient
  sqs: SQS
  scheduler: Scheduler
}

/** A client that is loaded and made when the first call needs it. */
export type Later<Client> = () => Client | Promise<Client>

/** Calls at once where the client is there, without a turn in between. */
export function using<Client, T>(later: Later<Client>, call: (client: Client) => Promise<T>): Promise<T> {
  const client = later()
  return client instanceof Promise ? client.then(call) : call(client)
}

/** Each process needs DynamoDB; the others are for those that come to need them. */
export interface LazyClients {
  dynamodb: DynamoDBClient
  sqs: Later<SQS>
  scheduler: Later<Scheduler>
  /** Closes the connections of those that were made. */
  destroy(): void
}

/**
 * The SDK retries throttling, 5xx and lost answers, with jitter; every write here is safe to
 * repeat. A call that hangs times out early: the next attempt is likely to meet a healthy host.
 */
export const PATIENT = {
  maxAttempts: 8,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
}

/** A queue's URL names the queue. Where requests go is said by the environment alone. */
export const PATIENT_SQS = { ...PATIENT, useQueueUrlAsEndpoint: false }

/** Where these clients go is said by the environment alone (AWS_ENDPOINT_URL, AWS_REGION, credentials). */
export function lazyClients(): LazyClients {
  const made: { destroy(): void }[] = []
  const keep = <Client extends { destroy(): void }>(client: Client): Client => {
    made.push(client)
    return client
  }
  return {
    dynamodb: keep(new DynamoDBClient(PATIENT)),
    sqs: once(async () => keep(new (await import('./sdk/sqs.ts')).SQS(PATIENT_SQS))),
    scheduler: once(async () => keep(new (await import('./sdk/scheduler.ts')).Scheduler(PATIENT))),
    destroy() {
      for (const client of made.splice(0)) client.destroy()
    },
  }
}

/** The same for clients that were made elsewhere. */
export const givenClients = ({ dynamodb, sqs, scheduler }: AwsClients): LazyClients => ({
  dynamodb,
  sqs: () => sqs,
  scheduler: () => scheduler,
  destroy() {
    for (const client of [dynamodb, sqs, scheduler]) client.destroy()
  },
})

/** What was made is kept. If it could not be made, the next call tries again. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let making: Promise<T> | undefined
  return () => {
    making ??= make().catch((error: unknown) => {
      making = undefined
      throw error
    })
    return making
  }
}
