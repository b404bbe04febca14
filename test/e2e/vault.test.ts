import { randomBytes } from 'node:crypto'
import { ScanCommand } from '@aws-sdk/client-dynamodb'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { DeleteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import { LambdaFunctions } from '../../sdk/worlds/aws/lambda-functions.ts'
import { SignedFetch } from '../../sdk/worlds/aws/signed-fetch.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { deployed, eventually } from './deployment.ts'
import { falls, letter, note } from './vault-workflows.ts'

const CANARY = 'canary-4b'
const timeout = { timeout: PATIENCE_MS }

async function vault() {
  const { vault: client, aws, outputs } = await deployed()
  const s3 = new S3Client({ forcePathStyle: true })
  return {
    client,
    aws,
    outputs,
    items: async () => (await aws.dynamodb.send(new ScanCommand({ TableName: outputs.VaultTable }))).Items ?? [],
    objectsOf: async (runId: string) =>
      (await s3.send(new ListObjectsV2Command({ Bucket: outputs.VaultBucket, Prefix: `runs/${runId}/` }))).Contents ??
      [],
  }
}

const itemsOf = (items: Record<string, { S?: string }>[], runId: string) =>
  items.filter(({ pk, runId: of }) => pk!.S === `RUN#${runId}` || of?.S === runId)

describe('payloads with the codec of the guide', () => {
  it('are encrypted in the table, and unreadable once the data key of their tag is deleted; other customers do not notice', async () => {
    const { client, aws, outputs, items } = await vault()
    const [mine, theirs] = [
      await client.start(letter, { customer: 1, text: CANARY }),
      await client.start(letter, { customer: 2, text: CANARY }),
    ]
    expect(await client.result(mine.runId, timeout)).toBe(`${CANARY} was read`)
    expect(await client.result(theirs.runId, timeout)).toBe(`${CANARY} was read`)
    const stored = JSON.stringify(await items())
    expect(stored).not.toContain(CANARY)
    expect(stored).toContain('customer:1')
    await DynamoDBDocumentClient.from(aws.dynamodb).send(
      new DeleteCommand({ TableName: outputs.VaultDataKeys, Key: { owner: 'customer:1' } }),
    )
    expect(await client.get(mine.runId)).toMatchObject({
      status: 'completed',
      input: { '~unreadable': 'the data key of customer:1 was deleted' },
    })
    expect(await client.result(theirs.runId)).toBe(`${CANARY} was read`)
  })
})

describe('erasing', () => {
  it('by tag leaves no item and no object, and touches nobody else', async () => {
    const { client, items, objectsOf } = await vault()
    const large = randomBytes(600_000).toString('hex')
    const [mine, theirs] = [
      await client.start(letter, { customer: 3, text: large }),
      await client.start(letter, { customer: 4, text: 'short' }),
    ]
    await client.result(mine.runId, timeout)
    await client.result(theirs.runId, timeout)
    expect((await objectsOf(mine.runId)).length).toBeGreaterThan(0)
    const { runId } = await client.eraseTagged('customer:3')
    expect(await client.result(runId, timeout)).toEqual({ erased: 1, open: 0, openRuns: [] })
    expect(itemsOf(await items(), mine.runId)).toEqual([])
    expect(await objectsOf(mine.runId)).toEqual([])
    expect((await client.get(theirs.runId)).status).toBe('completed')
  })

  it('happens by itself when the retention of a run has passed, its objects included', async () => {
    const { client, aws, outputs, items, objectsOf } = await vault()
    const { runId } = await client.start(note, { customer: 5, text: randomBytes(600_000).toString('hex') })
    const functions = new LambdaFunctions(new SignedFetch(aws.dynamodb))
    await eventually('the sweeper to have removed it', async () => {
      await functions.invoke(outputs.VaultSweeper, {}, { idempotencyKey: 'sweep', signal: AbortSignal.timeout(60_000) })
      return itemsOf(await items(), runId).length === 0
    })
    expect(await objectsOf(runId)).toEqual([])
  })
})

it('the workflow for failures is called once for a run that failed, and not for itself', async () => {
  const { client } = await vault()
  const { runId } = await client.start(falls, { customer: 6 })
  const [called] = await eventually('the workflow for failures to have run', async () => {
    const { runs } = await client.list({ workflow: 'tell', status: 'failed' })
    return runs.length > 0 && runs
  })
  expect(called!.runId).toMatch(/^failure~/)
  const { error } = await client.get(called!.runId)
  expect(JSON.parse(error!.message)).toEqual({ runId, status: 'FAILED', error: 'TypeError' })
  // What it says of its own failure has gone the same way by now, if it has.
  const later = await client.start(falls, { customer: 6 })
  await eventually('the next one to be told', async () => (await client.list({ workflow: 'tell' })).runs.length > 1)
  expect((await client.list({ workflow: 'tell' })).runs).toHaveLength(2)
  expect((await client.get(later.runId)).status).toBe('failed')
})
