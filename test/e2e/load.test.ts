import { QueryCommand } from '@aws-sdk/client-dynamodb'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { beforeAll, describe, expect, it } from 'vitest'
import { PATIENCE_MS } from '../outside/patience.ts'
import { type Deployment, deployed, eventually } from './deployment.ts'
import { echo } from './workflows.ts'

const RUNS = 500

describe('size and numbers', () => {
  let deployment: Deployment
  let client: Deployment['client']
  beforeAll(async () => {
    deployment = await deployed()
    client = deployment.client
  })

  it('2 MB go in, through a step and out again, by way of S3; erased, nothing is left', async () => {
    // Random, or compression would make it small.
    const text = Buffer.from(Array.from({ length: 1_500_000 }, () => Math.floor(Math.random() * 256))).toString(
      'base64',
    )
    const { runId } = await client.start(echo, { text })
    const output = await client.result<{ text: string }>(runId, { timeout: PATIENCE_MS })
    expect(output.text === text).toBe(true)
    const { KeyCount } = await new S3Client({ forcePathStyle: true }).send(
      new ListObjectsV2Command({ Bucket: deployment.outputs.Bucket, Prefix: `runs/${runId}/` }),
    )
    expect(KeyCount).toBeGreaterThanOrEqual(2)

    await client.erase(runId)
    await expect(client.get(runId)).rejects.toThrow(`no run '${runId}'`)
    const left = await new S3Client({ forcePathStyle: true }).send(
      new ListObjectsV2Command({ Bucket: deployment.outputs.Bucket, Prefix: `runs/${runId}/` }),
    )
    expect(left.KeyCount).toBe(0)
    const items = await deployment.aws.dynamodb.send(
      new QueryCommand({
        TableName: deployment.outputs.Table,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': { S: `RUN#${runId}` } },
      }),
    )
    expect(items.Count).toBe(0)
  })

  it('a run that somebody waits for is answered in the request that starts it', async () => {
    const { run, created } = await client.startAndSettle(echo, { text: 'at once' }, { timeout: '20s' })
    expect([run.status, run.output, created]).toEqual(['completed', { text: 'at once' }, true])
  })

  it('6 MB are refused, and nothing is written', async () => {
    await expect(client.start(echo, { text: 'x'.repeat(6_000_000) }, { id: 'too-large' })).rejects.toThrow(/large/i)
    await expect(client.get('too-large')).rejects.toThrow("no run 'too-large'")
  })

  it(`${RUNS} runs started at once all complete, once each`, async () => {
    const began = Date.now()
    const started = await Promise.all(
      Array.from({ length: RUNS }, (_, i) => client.start(echo, { text: `${i}` }, { tags: ['crowd'] })),
    )
    const startedAfter = Date.now() - began
    expect(new Set(started.map(({ runId }) => runId)).size).toBe(RUNS)
    const ended = await eventually('all have completed', async () => completed(client), PATIENCE_MS)
    console.info(`${RUNS} runs: started within ${startedAfter} ms, completed within ${Date.now() - began} ms`)
    expect(new Set(ended).size).toBe(RUNS)
  })
})

async function completed(client: Deployment['client']): Promise<string[] | undefined> {
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await client.list({ tag: 'crowd', status: 'completed', limit: 250, cursor })
    ids.push(...page.runs.map(({ runId }) => runId))
    cursor = page.cursor
  } while (cursor)
  return ids.length >= RUNS ? ids : undefined
}
