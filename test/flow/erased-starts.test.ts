import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { inflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { withCodec } from '../../sdk/codec/with-codec.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { Client, type Codec, Registry, workflow } from '../../sdk/index.ts'
import type { World } from '../../sdk/ports/world.ts'
import { VirtualClock } from '../../sdk/testing/index.ts'
import { LocalWorld } from '../../sdk/worlds/local/world.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'

const SECRET = 'canary-4c1e'
interface Patient {
  customer: number
  diagnosis: string
}
const flow = { key: ({ customer }: Patient) => String(customer), wait: '1h' } as const
const tags = ({ customer }: Patient) => [`customer:${customer}`]
const debounced = workflow('mail', { tags, debounce: flow }, async (_ctx, input: Patient) => input.customer)
const batched = workflow(
  'bill',
  { tags, batch: { ...flow, size: 10 } },
  async (_ctx, inputs: Patient[]) => inputs.length,
)
const registry = new Registry([debounced, batched])

interface Stage {
  world: World
  clock: VirtualClock
  /** Whatever is stored, as text. */
  stored(): string
  close(): Promise<void>
}

const stages: Record<string, (codec?: Codec) => Promise<Stage>> = {
  async local(codec) {
    const folder = mkdtempSync(join(tmpdir(), 'overwinter-starts-'))
    const path = join(folder, 'runs.db')
    const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
    const world = new LocalWorld({ path, clock, log: () => {} })
    return {
      world: withCodec(world, codec),
      clock,
      stored() {
        using db = new DatabaseSync(path, { readOnly: true })
        const tables = db.prepare("select name from sqlite_master where type = 'table'").all() as { name: string }[]
        const values = tables.flatMap(({ name }) =>
          db
            .prepare(`select * from "${name}"`)
            .all()
            .flatMap((row) => Object.values(row)),
        )
        return values
          .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
          .join('\n')
      },
      async close() {
        await world.close()
        rmSync(folder, { recursive: true })
      },
    }
  },
  async aws(codec) {
    const { world, clock, table, aws } = openAwsInMemory({ seed: 'starts' })
    const text = (_key: string, value: unknown) =>
      value instanceof Uint8Array ? inflateRawSync(value).toString() : value
    return {
      world: withCodec(world, codec),
      clock,
      stored: () =>
        JSON.stringify([...table.items()], text) +
        aws.objects
          .list('')
          .map(({ key }) => inflateRawSync(aws.objects.get(key)).toString())
          .join(),
      close: async () => {},
    }
  },
}

async function staged(kind: string, codec?: Codec) {
  const stage = await stages[kind]!(codec)
  const client = new Client(stage.world, registry)
  const take = (runId: string) => runOnce(stage.world, registry, runId, { lease: { owner: 'runner', ms: 30_000 } })
  const start = async (of: typeof debounced | typeof batched, diagnosis = SECRET, idempotencyKey?: string) =>
    (
      await client.start(
        of as typeof debounced,
        { customer: 42, diagnosis },
        idempotencyKey === undefined ? {} : { idempotencyKey },
      )
    ).runId
  return { ...stage, client, take, start, [Symbol.asyncDispose]: stage.close }
}

describe.each(Object.keys(stages))('starts that become one run, in the %s world', (kind) => {
  describe.each([
    ['debounced', debounced],
    ['batched', batched],
  ] as const)('%s', (_how, of) => {
    it('leave nothing of their payloads behind when their run is terminated before it takes them, and then erased', async () => {
      await using it = await staged(kind)
      const runId = await it.start(of)
      await it.start(of, `${SECRET} again`)
      expect(it.stored()).toContain(`${SECRET} again`)
      await it.client.terminate(runId)
      expect(it.stored()).not.toContain(`${SECRET} again`)
      await it.client.erase(runId)
      expect(it.stored()).not.toContain(SECRET)
    })

    it('leave nothing behind when their run took them, ended and was erased', async () => {
      await using it = await staged(kind)
      const runId = await it.start(of)
      it.clock.moveTo(it.clock.now() + 3_600_000)
      await it.take(runId)
      expect((await it.client.get(runId)).status).toBe('completed')
      await it.client.erase(runId)
      expect(it.stored()).not.toContain(SECRET)
    })
  })

  it('under a key are answered with their run after it was terminated, and start anew after it was erased', async () => {
    await using it = await staged(kind)
    const runId = await it.start(debounced, SECRET, 'k1')
    await it.client.terminate(runId)
    expect(await it.start(debounced, SECRET, 'k1')).toBe(runId)
    await expect(it.start(debounced, 'another', 'k1')).rejects.toThrow(
      'another input was started under this idempotency key',
    )
    const next = await it.start(debounced)
    expect(next).not.toBe(runId)
    await it.client.terminate(next)
    await it.client.erase(next)
    expect((await it.client.get(await it.start(debounced, SECRET))).status).toBe('pending')
  })

  it('of which one is open are not touched when an earlier run of the same key is erased', async () => {
    await using it = await staged(kind)
    const first = await it.start(debounced, 'old')
    await it.client.terminate(first)
    const second = await it.start(debounced)
    await it.client.erase(first)
    it.clock.moveTo(it.clock.now() + 3_600_000)
    await it.take(second)
    expect(await it.client.get(second)).toMatchObject({ status: 'completed', output: 42 })
  })

  it('are encoded with the tags of their run', async () => {
    const encoded: (readonly string[])[] = []
    const codec: Codec = {
      encode: (json, { tags: by }) => {
        if (json.includes(SECRET)) encoded.push(by)
        return Buffer.from(json).toString('base64')
      },
      decode: (text) => Buffer.from(text, 'base64').toString(),
    }
    await using it = await staged(kind, codec)
    const runId = await it.start(debounced)
    await it.start(debounced)
    it.clock.moveTo(it.clock.now() + 2 * 3_600_000)
    await it.take(runId)
    expect(encoded.length).toBeGreaterThanOrEqual(3)
    expect(encoded).toEqual(encoded.map(() => ['customer:42']))
  })
})
