import { existsSync } from 'node:fs'
import { UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb'
import { type NotificationConfiguration, PutBucketNotificationConfigurationCommand, S3Client } from '@aws-sdk/client-s3'
import packageJson from '../../package.json' with { type: 'json' }
import { HttpError, OverwinterClient } from '../../sdk/http-client/index.ts'
import { sigv4 } from '../../sdk/http-client/sigv4.ts'
import type { AwsClients } from '../../sdk/worlds/aws/clients.ts'
import { LambdaFunctions } from '../../sdk/worlds/aws/lambda-functions.ts'
import { SignedFetch } from '../../sdk/worlds/aws/signed-fetch.ts'
import { TABLE } from '../../sdk/worlds/aws/table.ts'
import { byAsking } from '../../workflows/stages/by-asking.ts'
import { awsClients } from '../aws/clients.ts'
import { nameOfStandIn, standIn } from '../aws/stand-in.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { deploy, outputsFile, outputsOf, standInEndpoint } from './cdk.ts'
import { limitedFetch } from './limited-fetch.ts'

export const STACK = 'OverwinterE2e'

interface Outputs {
  ApiId: string
  ApiUrl: string
  Table: string
  Bucket: string
  QueueUrl: string
  DeadLettersUrl: string
  SchedulerGroup: string
  SchedulesFunction: string
  NodeVersionFunction: string
  WorkersUrl: string
  NativeQueueUrl: string
  VaultApiId: string
  VaultApiUrl: string
  VaultTable: string
  VaultBucket: string
  VaultSweeper: string
  VaultDataKeys: string
  EventDeadLettersUrl: string
  ParcelQueueUrl: string
  ParcelTopicArn: string
  ParcelBucket: string
  ParcelNotifications: string
  ParcelTableName: string
  ParcelQueueFunction: string
}

export interface Deployment {
  url: string
  /** Where workers go. */
  workersUrl: string
  client: OverwinterClient
  /** Of the construct whose payloads are encrypted. */
  vault: OverwinterClient
  aws: AwsClients
  outputs: Outputs
}

/** The deployed stack. The first test file that asks deploys it; the others find it there. */
export async function deployed(): Promise<Deployment> {
  if (existsSync(outputsFile(STACK))) {
    const deployment = connect(outputsOf(STACK))
    if ((await refusal(deployment)) === undefined) return deployment
  }
  const deployment = connect(deploy<Outputs>({ app: 'app.ts', stack: STACK, context: { api: await kindOfApi() } }))
  await enableTimeToLive(deployment)
  await tellBucketWhomToNotify(deployment)
  const refused = await refusal(deployment)
  if (refused === undefined) return deployment
  throw new Error(
    `the stack was deployed, but its API does not work at ${deployment.url}: ${refused.message}. ${await adviceOn(deployment)}`,
  )
}

/** What was found in the place of AWS, and what to do. */
async function adviceOn({ outputs }: Deployment): Promise<string> {
  const endpoint = standInEndpoint()
  const version = await invoke(outputs.NodeVersionFunction).catch(
    (error: Error) => `none that works (${error.message})`,
  )
  const found = `${await nameOfStandIn(endpoint)} answers at ${endpoint}. The Node that it has for functions: ${version}; they need ${packageJson.engines.node}`
  const todo =
    (await standIn(endpoint)) === 'localstack'
      ? 'LocalStack runs functions in Docker: see that it can reach it'
      : 'MiniStack takes the first `node` of the PATH that it was started with: start it again with another one'
  return `${found}. ${todo}, or leave AWS_ENDPOINT_URL out, and the tests start a MiniStack of their own`
}

/** LocalStack's free edition answers 501 to everything about HTTP APIs. */
async function kindOfApi(): Promise<'http' | 'rest'> {
  return (await standIn()) === 'localstack' ? 'rest' : 'http'
}

/** Where an API is on a stand-in: the host name that it has on AWS resolves to nothing there. */
export function urlOnStandIn({ ApiId, ApiUrl }: Pick<Outputs, 'ApiId' | 'ApiUrl'>): string {
  const [, stage = '$default'] = new URL(ApiUrl).pathname.split('/')
  return `${standInEndpoint()}/_aws/execute-api/${ApiId}/${stage || '$default'}`
}

/** For the owner of the account. */
export function clientAt(url: string): OverwinterClient {
  const credentials = {
    accessKeyId: process.env.AWS_ACCESS_KEY_ID!,
    secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY!,
  }
  return new OverwinterClient({
    url,
    sign: sigv4({ region: process.env.AWS_REGION!, credentials }),
    fetch: limitedFetch,
  })
}

function connect(outputs: Outputs): Deployment {
  const url = urlOnStandIn(outputs)
  const vault = clientAt(urlOnStandIn({ ApiId: outputs.VaultApiId, ApiUrl: outputs.VaultApiUrl }))
  return { url, workersUrl: workersUrlOnStandIn(outputs), client: clientAt(url), vault, aws: awsClients(), outputs }
}

function workersUrlOnStandIn({ WorkersUrl }: Outputs): string {
  if (WorkersUrl.includes('.localhost.localstack.cloud')) return WorkersUrl.replace(/\/+$/, '')
  const [, urlId] = /^https?:\/\/([^.]+)\./.exec(WorkersUrl)!
  return `${standInEndpoint()}/_aws/lambda-url/${urlId}`
}

/** Calls a function as its owner may, past the API. */
export function invoke(name: string): Promise<unknown> {
  const functions = new LambdaFunctions(new SignedFetch(awsClients().dynamodb))
  return functions.invoke(name, {}, { idempotencyKey: 'e2e', signal: AbortSignal.timeout(60_000) })
}

/** Why the API does not answer as it should; undefined if it does. */
async function refusal({ client }: Deployment): Promise<HttpError | undefined> {
  return client.list({ limit: 1 }).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof HttpError) return error
      throw error
    },
  )
}

/** CloudFormation does it on AWS; the stand-in's does not. */
async function enableTimeToLive({ aws, outputs }: Deployment): Promise<void> {
  const TimeToLiveSpecification = { AttributeName: TABLE.timeToLive, Enabled: true }
  await aws.dynamodb
    .send(new UpdateTimeToLiveCommand({ TableName: outputs.Table, TimeToLiveSpecification }))
    .catch((error: Error) => {
      if (!/already enabled/i.test(error.message)) throw error
    })
}

/** A function of CDK's does it on AWS; see the app. */
async function tellBucketWhomToNotify({ outputs }: Deployment): Promise<void> {
  const NotificationConfiguration = JSON.parse(outputs.ParcelNotifications) as NotificationConfiguration
  await new S3Client({ forcePathStyle: true }).send(
    new PutBucketNotificationConfigurationCommand({ Bucket: outputs.ParcelBucket, NotificationConfiguration }),
  )
}

/** Asks until there is an answer. */
export function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined | false>,
  withinMs = PATIENCE_MS,
): Promise<T> {
  return byAsking({ everyMs: 200, withinMs })(what, async () => (await probe()) || undefined)
}
