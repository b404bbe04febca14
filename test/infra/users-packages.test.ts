import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { Project, root } from '../cli/fixture.ts'
import { runnerWith, SETTINGS } from './bundled.ts'

const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'AKIDUSER', AWS_SECRET_ACCESS_KEY: 'secret', AWS_SESSION_TOKEN: 'session' }

/** The user's steps run while the bundle is loaded, so that a test sees what each of them gets. */
const ENTRY = `
import { workflow } from 'overwinter'
import { BedrockRuntimeClient, InvokeModelWithResponseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { GetObjectCommand, S3Client, SelectObjectContentCommand } from '@aws-sdk/client-s3'
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn'
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm'
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'
import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb'
import { fromEnv } from '@aws-sdk/credential-provider-env'
import { defaultProvider } from '@aws-sdk/credential-provider-node'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import pg from 'pg'
import { greeting } from 'old-package'
import { own } from '#aws/documents'

export const one = workflow('one', async () => {})

const report = {}
const tried = async (name, work) => {
  report[name] = await work().catch((error) => String(error))
}
await tried('S3', async () => (await new S3Client({ forcePathStyle: true }).send(new GetObjectCommand({ Bucket: 'b', Key: 'k' }))).Body.transformToString())
await tried('SelectObjectContent', async () => typeof new SelectObjectContentCommand({}).input)
await tried('Bedrock', async () => {
  const answer = await new BedrockRuntimeClient({ requestHandler: new NodeHttpHandler() }).send(new InvokeModelWithResponseStreamCommand({ modelId: 'm', body: '{}' }))
  const words = []
  for await (const { chunk } of answer.body) words.push(new TextDecoder().decode(chunk.bytes))
  return words
})
await tried('STS', async () => (await new STSClient().send(new GetCallerIdentityCommand({}))).Account)
await tried('SSM', async () => (await new SSMClient().send(new GetParameterCommand({ Name: 'p' }))).Parameter.Value)
await tried('Secrets Manager', async () => (await new SecretsManagerClient().send(new GetSecretValueCommand({ SecretId: 's' }))).SecretString)
await tried('Step Functions', async () => (await new SFNClient().send(new StartExecutionCommand({ stateMachineArn: 'a' }))).executionArn)
await tried('DynamoDB', async () => (await new DynamoDBClient().send(new ListTablesCommand())).TableNames)
await tried('DynamoDB documents', async () =>
  (await DynamoDBDocumentClient.from(new DynamoDBClient()).send(new GetCommand({ TableName: 't', Key: { id: 1 } }))).Item)
await tried('pg', async () => [pg.escapeLiteral("it's"), typeof new pg.Pool({ max: 1 }).query])
await tried('CommonJS', async () => greeting)
await tried('imports of the package', async () => own)
await tried('credentials', async () => (await fromEnv()()).accessKeyId)
await tried('a profile', async () =>
  (await defaultProvider({ profile: 'none', filepath: '/nowhere', configFilepath: '/nowhere', ignoreCache: true })()).accessKeyId)
process.stdout.write(JSON.stringify(report))
`

/** Stands in for AWS: what it is asked for by path or by target. Bedrock is answered in the binary format of event streams. */
const ANSWERS: [RegExp, string | Buffer][] = [
  [/^GET \/b\/k/, 'an object'],
  [/invoke-with-response-stream/, Buffer.concat(['Hel', 'lo'].map((word) => chunkOf(word)))],
  [
    /GetCallerIdentity/,
    '<GetCallerIdentityResponse><GetCallerIdentityResult><Account>42</Account></GetCallerIdentityResult></GetCallerIdentityResponse>',
  ],
  [/GetParameter/, '{"Parameter":{"Value":"a parameter"}}'],
  [/GetSecretValue/, '{"SecretString":"a secret"}'],
  [/StartExecution/, '{"executionArn":"arn:execution"}'],
  [/ListTables/, '{"TableNames":["t"]}'],
  [/GetItem/, '{"Item":{"n":{"N":"7"}}}'],
]

function chunkOf(word: string): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.from([7, 0, value.length]), Buffer.from(value)])
  const header = ([name, value]: [string, string]) =>
    Buffer.concat([Buffer.from([name.length]), Buffer.from(name), text(value)])
  const headers = Buffer.concat(
    Object.entries({ ':message-type': 'event', ':event-type': 'chunk', ':content-type': 'application/json' }).map(
      header,
    ),
  )
  const payload = Buffer.from(JSON.stringify({ bytes: Buffer.from(word).toString('base64') }))
  const uint = (value: number) => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(value)
    return bytes
  }
  const prelude = Buffer.concat([uint(16 + headers.length + payload.length), uint(headers.length)])
  const message = Buffer.concat([prelude, uint(crc32(prelude)), headers, payload])
  return Buffer.concat([message, uint(crc32(message))])
}

async function standIn() {
  const signedBy = new Set<string>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    signedBy.add(/Credential=(\w+)/.exec(request.headers.authorization ?? '')?.[1] ?? 'unsigned')
    const asked = `${request.method} ${request.url} ${request.headers['x-amz-target']} ${body}`
    const answer = ANSWERS.find(([pattern]) => pattern.test(asked))?.[1]
    const isStream = typeof answer === 'object'
    response
      .writeHead(
        answer === undefined ? 404 : 200,
        isStream ? { 'content-type': 'application/vnd.amazon.eventstream' } : {},
      )
      .end(answer)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    signedBy,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describe("what the user's steps import", () => {
  it('is the package that was installed: AWS clients with streams and credentials, drivers, CommonJS', async () => {
    using project = new Project({
      'package.json': JSON.stringify({ type: 'module', imports: { '#aws/documents': './own.ts' } }),
      'entry.ts': ENTRY,
      'own.ts': `export const own = "the user's"`,
      'node_modules/old-package/package.json': '{}',
      'node_modules/old-package/index.js': `const { EventEmitter } = require('events')\nexports.greeting = typeof new EventEmitter().on`,
    })
    for (const name of readdirSync(`${root}/node_modules`).filter((each) =>
      /^(@aws-sdk|pg.*|@smithy|@aws)$/.test(each),
    ))
      symlinkSync(`${root}/node_modules/${name}`, project.path(`node_modules/${name}`))
    mkdirSync(project.path('home'))
    await using aws = await standIn()
    const runner = runnerWith({ entry: project.path('entry.ts') })
    const env = { ...SETTINGS, ...CREDENTIALS, AWS_ENDPOINT_URL: aws.url, HOME: project.path('home') }
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', 'await import(process.argv[1])', runner],
      { env },
    )
    expect(JSON.parse(stdout)).toEqual({
      S3: 'an object',
      SelectObjectContent: 'object',
      Bedrock: ['Hel', 'lo'],
      STS: '42',
      SSM: 'a parameter',
      'Secrets Manager': 'a secret',
      'Step Functions': 'arn:execution',
      DynamoDB: ['t'],
      'DynamoDB documents': { n: 7 },
      pg: ["'it''s'", 'function'],
      CommonJS: 'function',
      'imports of the package': "the user's",
      credentials: 'AKIDUSER',
      // The SDK's own search looks into profiles; one that knows only the environment would find the key there.
      'a profile': expect.stringContaining('CredentialsProviderError'),
    })
    expect([...aws.signedBy]).toEqual([CREDENTIALS.AWS_ACCESS_KEY_ID])
  })
})
