import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb'
import { HttpError, OverwinterClient } from '../../sdk/http-client/index.ts'
import { sigv4 } from '../../sdk/http-client/sigv4.ts'
import { type AwsClients, awsClients } from '../../sdk/worlds/aws/clients.ts'
import { TABLE } from '../../sdk/worlds/aws/table.ts'
import { byAsking } from '../../workflows/stages/by-asking.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { bootstrap, cacheFolder, cdk } from './cdk.ts'
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
  WorkersUrl: string
  NativeQueueUrl: string
}

export interface Deployment {
  url: string
  /** Where workers go. */
  workersUrl: string
  client: OverwinterClient
  aws: AwsClients
  outputs: Outputs
}

/** The deployed stack. The first test file that asks deploys it; the others find it there. */
export async function deployed(): Promise<Deployment> {
  const endpoint = process.env.AWS_ENDPOINT_URL
  if (!endpoint) throw new Error('start these tests with npm run test:aws, which starts the AWS stand-in')
  const folder = cacheFolder(endpoint)
  const known = join(folder, 'outputs.json')
  if (existsSync(known)) {
    const deployment = connect(endpoint, known)
    if ((await refusal(deployment)) === undefined) return deployment
  }
  const assembly = join(folder, 'cdk.out')
  bootstrap('app.ts', assembly)
  cdk('app.ts', assembly, ['deploy', '--require-approval', 'never', '--outputs-file', known])
  const deployment = connect(endpoint, known)
  await enableTimeToLive(deployment)
  const refused = await refusal(deployment)
  if (refused === undefined) return deployment
  throw new Error(
    `the stack was deployed, but its API does not work at ${deployment.url}: ${refused.message}. A MiniStack that you started yourself runs functions ` +
      'with the `node` that it finds on its PATH, which must be 22.18 or newer',
  )
}

function connect(endpoint: string, file: string): Deployment {
  // The stand-in calls itself localhost, and the SQS client frets over a queue whose host is not the endpoint's.
  const text = readFileSync(file, 'utf8').replaceAll('http://localhost:', 'http://127.0.0.1:')
  const outputs = (JSON.parse(text) as { [STACK]: Outputs })[STACK]
  const { url, client } = clientOf(endpoint, outputs.ApiId)
  const [, urlId] = /^https?:\/\/([^.]+)\./.exec(outputs.WorkersUrl)!
  const workersUrl = `${endpoint}/_aws/lambda-url/${urlId}`
  return { url, workersUrl, client, aws: awsClients(), outputs }
}

/** The host name that the API has on AWS resolves to nothing here. */
export function clientOf(endpoint: string, apiId: string): { url: string; client: OverwinterClient } {
  const url = `${endpoint}/_aws/execute-api/${apiId}/$default`
  const credentials = { accessKeyId: process.env.AWS_ACCESS_KEY_ID!, secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY! }
  return { url, client: new OverwinterClient({ url, sign: sigv4({ region: process.env.AWS_REGION!, credentials }), fetch: limitedFetch }) }
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

/** Asks until there is an answer. */
export function eventually<T>(what: string, probe: () => Promise<T | undefined | false>, withinMs = PATIENCE_MS): Promise<T> {
  return byAsking({ everyMs: 200, withinMs })(what, async () => (await probe()) || undefined)
}
