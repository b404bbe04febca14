import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb'
import { type NotificationConfiguration, PutBucketNotificationConfigurationCommand, S3Client } from '@aws-sdk/client-s3'
import { HttpError, OverwinterClient } from '../../sdk/http-client/index.ts'
import { sigv4 } from '../../sdk/http-client/sigv4.ts'
import { type AwsClients, awsClients } from '../../sdk/worlds/aws/clients.ts'
import { TABLE } from '../../sdk/worlds/aws/table.ts'
import { byAsking } from '../../workflows/stages/by-asking.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { limitedFetch } from './limited-fetch.ts'

const ROOT = join(import.meta.dirname, '../..')
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
  WorkersUrl: string
  NativeQueueUrl: string
  VaultApiId: string
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
  const endpoint = process.env.AWS_ENDPOINT_URL
  if (!endpoint) throw new Error('start these tests with npm run test:aws, which starts the AWS stand-in')
  const folder = join(ROOT, 'node_modules/.cache/overwinter-e2e', new URL(endpoint).port)
  const known = join(folder, 'outputs.json')
  if (existsSync(known)) {
    const deployment = connect(endpoint, known)
    if ((await refusal(deployment)) === undefined) return deployment
  }
  mkdirSync(folder, { recursive: true })
  cdk(folder, 'bootstrap', `aws://000000000000/${process.env.AWS_REGION}`)
  cdk(folder, 'deploy', '--require-approval', 'never', '--outputs-file', known)
  const deployment = connect(endpoint, known)
  await enableTimeToLive(deployment)
  await tellBucketWhomToNotify(deployment)
  const refused = await refusal(deployment)
  if (refused === undefined) return deployment
  throw new Error(
    `the stack was deployed, but its API does not work at ${deployment.url}: ${refused.message}. A MiniStack that you started yourself runs functions ` +
      'with the `node` that it finds on its PATH, which must be 22.18 or newer',
  )
}

function cdk(folder: string, ...args: string[]): void {
  const app = 'node --conditions=overwinter-source test/e2e/app.ts'
  const endpoint = process.env.AWS_ENDPOINT_URL!
  const env = { ...process.env, AWS_ENDPOINT_URL_S3: endpoint, CDK_DISABLE_CLI_TELEMETRY: 'true', CI: 'true' }
  const started = performance.now()
  try {
    execFileSync(join(ROOT, 'node_modules/.bin/cdk'), [...args, '--no-notices', '--app', app, '--output', join(folder, 'cdk.out')], {
      cwd: ROOT,
      env,
      stdio: 'pipe',
    })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: Buffer; stderr: Buffer }
    throw new Error(`cdk ${args[0]} failed:\n${stdout}\n${stderr}`)
  }
  console.info(`cdk ${args[0]}: ${((performance.now() - started) / 1000).toFixed(1)} s`)
}

function connect(endpoint: string, file: string): Deployment {
  // The stand-in calls itself localhost, and the SQS client frets over a queue whose host is not the endpoint's.
  const text = readFileSync(file, 'utf8').replaceAll('http://localhost:', 'http://127.0.0.1:')
  const outputs = (JSON.parse(text) as { [STACK]: Outputs })[STACK]
  // The host name that the API has on AWS resolves to nothing here.
  const urlOf = (apiId: string) => `${endpoint}/_aws/execute-api/${apiId}/$default`
  const url = urlOf(outputs.ApiId)
  const credentials = { accessKeyId: process.env.AWS_ACCESS_KEY_ID!, secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY! }
  const clientOf = (url: string) => new OverwinterClient({ url, sign: sigv4({ region: process.env.AWS_REGION!, credentials }), fetch: limitedFetch })
  const [, urlId] = /^https?:\/\/([^.]+)\./.exec(outputs.WorkersUrl)!
  const workersUrl = `${endpoint}/_aws/lambda-url/${urlId}`
  return { url, workersUrl, client: clientOf(url), vault: clientOf(urlOf(outputs.VaultApiId)), aws: awsClients(), outputs }
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
  await aws.dynamodb.send(new UpdateTimeToLiveCommand({ TableName: outputs.Table, TimeToLiveSpecification })).catch((error: Error) => {
    if (!/already enabled/i.test(error.message)) throw error
  })
}

/** A function of CDK's does it on AWS; see the app. */
async function tellBucketWhomToNotify({ outputs }: Deployment): Promise<void> {
  const NotificationConfiguration = JSON.parse(outputs.ParcelNotifications) as NotificationConfiguration
  await new S3Client({ forcePathStyle: true }).send(new PutBucketNotificationConfigurationCommand({ Bucket: outputs.ParcelBucket, NotificationConfiguration }))
}

/** Asks until there is an answer. */
export function eventually<T>(what: string, probe: () => Promise<T | undefined | false>, withinMs = PATIENCE_MS): Promise<T> {
  return byAsking({ everyMs: 200, withinMs })(what, async () => (await probe()) || undefined)
}
