import { randomBytes } from 'node:crypto'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { DeleteCommand, DynamoDBDocumentClient, GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itemSize } from '../../bench/cost/item-size.ts'
import type { Frame, JournalEvent } from '../../sdk/base/events.ts'
import { FORMAT } from '../../sdk/base/names.ts'
import type { Next } from '../../sdk/ports/commit.ts'
import type { NewRun } from '../../sdk/ports/run.ts'
import type { Claimed } from '../../sdk/ports/run-store.ts'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { awsClients } from './clients.ts'
import { makeResources } from './resources.ts'

const DAY = 86_400_000

/** What only this world has to get right, beyond the contract. */
describe('the DynamoDB store', () => {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  const lease = { owner: 'a', ms: 30_000 }
  const clients = awsClients()
  const db = DynamoDBDocumentClient.from(clients.dynamodb)
  let resources: Awaited<ReturnType<typeof makeResources>>
  let world: AwsWorld
  let serial = 0
  const store = () => world.store

  beforeAll(async () => {
    resources = await makeResources({ clients })
    world = new AwsWorld({ ...resources, clients, clock })
  })
  afterAll(async () => {
    await resources.remove()
    world.close()
  })

  const newRun = (changes: Partial<NewRun> = {}): NewRun => ({
    id: `store-${++serial}`,
    workflow: 'order',
    version: 1,
    format: FORMAT,
    input: { n: serial },
    secret: 'secret',
    createdAt: clock.now(),
    wakeAt: clock.now(),
    tags: [],
    retentionMs: 30 * DAY,
    ...changes,
  })
  async function started(changes: Partial<NewRun> = {}): Promise<Claimed> {
    const { run } = await store().create(newRun(changes))
    return (await store().claim(run.id, lease))!
  }
  const commit = (claim: Claimed, next: Next, frame?: Frame) =>
    store().commit({ runId: claim.run.id, epoch: claim.run.epoch, next, ...(frame && { frame }) })
  const frame = (claim: Claimed, seq: number, ...events: JournalEvent[]): Frame => ({
    seq,
    at: clock.now(),
    epoch: claim.run.epoch,
    events,
  })
  const done = (id: string, result: string): JournalEvent => ({ type: 'step.completed', id, result })
  const sleep = (claim: Claimed, wakeAt?: number): Next => ({
    kind: 'suspend',
    status: 'waiting',
    waitingFor: [],
    seen: claim.run.stimulus,
    wakeAt,
  })
  const random = (bytes: number) => randomBytes(bytes / 2).toString('hex')
  async function items(runId: string): Promise<Record<string, unknown>[]> {
    const { Items } = await db.send(
      new QueryCommand({
        TableName: resources.table,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': `RUN#${runId}` },
      }),
    )
    return Items!
  }
  async function runItem(runId: string): Promise<Record<string, unknown>> {
    return (await db.send(new GetCommand({ TableName: resources.table, Key: { pk: `RUN#${runId}`, sk: 'RUN' } }))).Item!
  }
  const ttls = async (runId: string) =>
    (await items(runId)).filter(({ sk }) => sk !== 'RUN').map(({ ttl }) => (ttl as number) * 1000)

  describe('payloads', () => {
    it('that do not compress are loaded over many pages', async () => {
      const claim = await started()
      const results = Array.from({ length: 12 }, () => random(500_000))
      for (const [i, result] of results.entries())
        await commit(claim, { kind: 'keep' }, frame(claim, i + 1, done(`s${i}`, result)))
      await commit(claim, { kind: 'release' })
      const again = (await store().claim(claim.run.id, lease))!
      expect(again.frames.flatMap(({ events }) => events).map((event) => (event as { result: string }).result)).toEqual(
        results,
      )
    })

    it('above the item limit are S3 objects, named by their content', async () => {
      const input = random(2_000_000)
      const claim = await started({ input })
      await store().deliver(claim.run.id, { id: 'm', kind: 'signal', name: 'go', payload: input })
      await commit(
        claim,
        { kind: 'end', event: { type: 'run.completed', output: input } },
        frame(claim, 1, { type: 'run.completed', output: input }),
      )
      expect(await store().get(claim.run.id)).toMatchObject({ input, output: input })
      const { Contents } = await new S3Client({ forcePathStyle: true }).send(
        new ListObjectsV2Command({ Bucket: resources.bucket, Prefix: `runs/${claim.run.id}/` }),
      )
      expect(Contents).toHaveLength(3)
    })

    it('leave the run item under a kilobyte, since every update costs its size', async () => {
      const wakeAt = clock.now() + 3_600_000
      const claim = await started({
        id: '01890a5d-ac96-774b-bcce-b302099a8057',
        input: { text: random(5_000) },
        tags: ['eu', 'priority'],
      })
      await commit(claim, {
        kind: 'suspend',
        status: 'sleeping',
        wakeAt,
        waitingFor: [{ kind: 'sleep', id: 'cool-off', until: wakeAt }],
        seen: 0,
      })
      expect(itemSize(await runItem(claim.run.id))).toBeLessThan(1024)
      clock.moveTo(wakeAt)
      const again = (await store().claim(claim.run.id, lease))!
      expect(again.run.input).toEqual(claim.run.input)
      const output = { text: random(3_000) }
      await commit(
        again,
        { kind: 'end', event: { type: 'run.completed', output } },
        frame(again, 1, { type: 'run.completed', output }),
      )
      expect(itemSize(await runItem(claim.run.id))).toBeLessThan(1024)
      expect((await store().get(claim.run.id))?.output).toEqual(output)
    })

    it('of an end that a recovering runner finds in the journal are still there', async () => {
      const claim = await started()
      const event = { type: 'run.completed' as const, output: random(3_000) }
      await commit(claim, { kind: 'keep' }, frame(claim, 1, event))
      await commit(claim, { kind: 'end', event })
      expect((await store().get(claim.run.id))?.output).toBe(event.output)
    })
  })

  describe('an id that is used again after its retention', () => {
    it('is a new run, with nothing of the old one in it', async () => {
      const old = await started({ id: 'again' })
      await store().deliver('again', { id: 'm', kind: 'signal', name: 'go' })
      await commit(old, { kind: 'keep' }, frame(old, 1, done('a', 'old')))
      await commit(old, { kind: 'end', event: { type: 'run.completed' } }, frame(old, 2, { type: 'run.completed' }))
      expect((await store().create(newRun({ id: 'again' }))).created).toBe(false)
      clock.moveTo(clock.now() + 31 * DAY)
      // The old item is still there: DynamoDB takes its time, and this test has TTL switched off.
      expect(await store().get('again')).toBeUndefined()
      expect((await store().create(newRun({ id: 'again' }))).created).toBe(true)
      expect(await store().frames('again')).toEqual([])
      const fresh = (await store().claim('again', lease))!
      expect(fresh).toMatchObject({ frames: [], inbox: [], run: { epoch: 1 } })
      expect(await commit(fresh, { kind: 'keep' }, frame(fresh, 1, done('a', 'new')))).toMatchObject({ ok: true })
      expect((await store().deliver('again', { id: 'm', kind: 'signal', name: 'go' })).outcome).toBe('accepted')
      expect((await store().frames('again')).flatMap(({ events }) => events)).toEqual([done('a', 'new')])
    })
  })

  describe('what DynamoDB removes by itself', () => {
    it('is never part of a run that lives, however long it sleeps', async () => {
      const claim = await started({ input: random(1_000) })
      await commit(claim, { kind: 'keep' }, frame(claim, 1, done('a', 'x')))
      const wakeAt = clock.now() + 365 * DAY
      await commit(claim, sleep(claim, wakeAt), frame(claim, 2, done('b', 'y')))
      expect(Math.min(...(await ttls(claim.run.id)))).toBeGreaterThan(wakeAt + 30 * DAY)
      expect(await runItem(claim.run.id)).not.toHaveProperty('ttl')
    })

    it('is neither the input of a run that starts much later nor what was sent to it before', async () => {
      const wakeAt = clock.now() + 365 * DAY
      const { run } = await store().create(newRun({ wakeAt, input: random(1_000) }))
      await store().deliver(run.id, { id: 'early', kind: 'signal', name: 'go' })
      const kept = await ttls(run.id)
      expect(kept).toHaveLength(2)
      expect(Math.min(...kept)).toBeGreaterThan(wakeAt + 30 * DAY)
    })

    it('costs a short run nothing: its frames had their time from the start', async () => {
      const claim = await started()
      await commit(claim, { kind: 'end', event: { type: 'run.completed' } }, frame(claim, 1, { type: 'run.completed' }))
      expect(await runItem(claim.run.id)).toMatchObject({ ttl: (clock.now() + 30 * DAY) / 1000 })
      expect(Math.min(...(await ttls(claim.run.id)))).toBeGreaterThan(clock.now() + 30 * DAY)
    })

    it('is put off by upkeep for a run that waits without limit, which nobody else notices', async () => {
      const claim = await started()
      await commit(claim, sleep(claim), frame(claim, 1, done('a', 'x')))
      for (let month = 0; month < 12; month++) {
        expect(await store().get(claim.run.id)).not.toHaveProperty('wakeAt')
        clock.moveTo(clock.now() + 31 * DAY)
        expect((await store().overdue(clock.now(), 1_000)).map(({ runId }) => runId)).toContain(claim.run.id)
        const again = (await store().claim(claim.run.id, lease))!
        expect(await commit(again, sleep(again))).toMatchObject({ suspended: true, wakes: [] })
        expect(Math.min(...(await ttls(claim.run.id)))).toBeGreaterThan(clock.now() + 31 * DAY)
      }
    })

    it('does not make a run start over if it should happen after all', async () => {
      const claim = await started()
      await commit(claim, { kind: 'keep' }, frame(claim, 1, done('a', 'x')))
      await commit(claim, { kind: 'release' }, frame(claim, 2, done('b', 'y')))
      for (const seq of [1, 2]) {
        await db.send(
          new DeleteCommand({
            TableName: resources.table,
            Key: { pk: `RUN#${claim.run.id}`, sk: `J#000000000${seq}` },
          }),
        )
        await expect(store().claim(claim.run.id, lease)).rejects.toThrow(
          /part 1 of the history of run .* is missing from the table/,
        )
        clock.moveTo(clock.now() + 31_000)
      }
    })
  })

  it('leaves a run in good hands to them when it looks for what is overdue', async () => {
    const claim = await started()
    clock.moveTo(clock.now() + 25_000)
    await store().renew(claim.run.id, claim.run.epoch, { owner: 'a', ms: 900_000 })
    clock.moveTo(clock.now() + 600_000)
    const overdue = async () => (await store().overdue(clock.now(), 1_000)).map(({ runId }) => runId)
    expect(await overdue()).not.toContain(claim.run.id)
    clock.moveTo(clock.now() + 600_000)
    expect(await overdue()).toContain(claim.run.id)
  })

  it('pages through runs in trouble, newest first', async () => {
    const workflow = `troubled-${serial}`
    const ids: string[] = []
    for (let i = 0; i < 5; i++) {
      const claim = await started({ workflow })
      const event = { type: 'run.failed' as const, error: { name: 'Error', message: 'no' } }
      await commit(claim, { kind: 'end', event }, frame(claim, 1, event))
      ids.unshift(claim.run.id)
      clock.moveTo(clock.now() + 1)
    }
    const first = await store().list({ workflow, status: 'failed', limit: 3 })
    const second = await store().list({ workflow, status: 'failed', limit: 3, cursor: first.cursor })
    expect([...first.runs, ...second.runs].map(({ runId }) => runId)).toEqual(ids)
    expect(second.cursor).toBeUndefined()
    await expect(store().list({ limit: 3, cursor: 'nonsense' })).rejects.toThrow(/not a cursor/)
  })

  it('carries an end through that its runner left in the journal only', async () => {
    const parent = await started()
    await commit(parent, sleep(parent))
    const claim = await started({ parent: { runId: parent.run.id, op: 'kid' } })
    await commit(claim, { kind: 'keep' }, frame(claim, 1, { type: 'run.completed', output: 7 }))
    expect(await store().terminate(claim.run.id, 'too late')).toMatchObject({ wakes: [{ runId: parent.run.id }] })
    expect(await store().get(claim.run.id)).toMatchObject({ status: 'completed', output: 7 })
  })
})
