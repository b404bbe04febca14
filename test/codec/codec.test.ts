import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withCodec } from '../../sdk/codec/with-codec.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { Client, type Codec, type Context, GoneError, Registry, request, signal, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'
import { shroud } from './shroud.ts'

const CANARY = 'canary-7d1f'
const sing = signal<string>('sing')
const echo = request<string, string>('echo')

const chick = workflow('chick', { tags: () => ['customer:1'] }, async (ctx, note: string) => {
  await ctx.step('grow', () => note)
  return `${note} grown`
})

const bird = workflow('bird', { tags: () => ['customer:1'], version: 1 }, async (ctx: Context, note: string) => {
  const heard = await ctx.step('hear', () => `${note} heard`)
  const failed = await ctx
    .step(
      'choke',
      () => {
        throw Object.assign(new Error(`${note} choked`), { seed: note })
      },
      { retry: { attempts: 1 } },
    )
    .catch((error: Error) => (error.cause as Error).message)
  ctx.progress({ note })
  const sung = await ctx.waitFor(sing)
  const asked = await ctx.waitFor(echo)
  asked.reply(`${asked.payload} echoed`)
  const grown = await ctx.run(chick, note)
  return { heard, failed, sung, grown }
})

const SUNG = { heard: `${CANARY} heard`, failed: `${CANARY} choked`, sung: `${CANARY} sung`, grown: `${CANARY} grown` }

describe('with a codec', () => {
  it('no payload can be read in the file of a local world, and the run sees everything as it was', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'overwinter-codec-'))
    const local = await Local.open({
      path: join(folder, 'runs.db'),
      workflows: [bird, chick],
      codec: shroud().codec,
      log: () => {},
    })
    const { runId } = await local.start(bird, CANARY)
    await local.signal(runId, sing, `${CANARY} sung`)
    expect(await local.ask(runId, echo, CANARY)).toBe(`${CANARY} echoed`)
    expect(await local.result(runId)).toEqual(SUNG)
    expect((await local.history(runId)).find(({ type }) => type === 'step.failed')).toMatchObject({
      error: { fields: { seed: CANARY } },
    })
    expect((await local.get(runId)).progress).toEqual({ note: CANARY })
    await local.close()
    const stored = readdirSync(folder).map((file) => readFileSync(join(folder, file)).toString('latin1'))
    expect(stored.join()).not.toContain(CANARY)
    // What it is found and understood by can.
    expect(stored.join()).toContain('customer:1')
    expect(stored.join()).toContain('choke')
    rmSync(folder, { recursive: true })
  })

  it('no payload can be read in the table, the bucket or the queues', async () => {
    const { world: plain, table, aws, clock } = openAwsInMemory({ seed: 'canary' })
    const world = withCodec(plain, shroud().codec)
    const registry = new Registry([bird, chick])
    const client = new Client(world, registry)
    const { runId } = await client.start(bird, CANARY)
    await client.signal(runId, sing, `${CANARY} sung`)
    const asked = client.ask(runId, echo, CANARY)
    for (let i = 0; i < 20; i++) {
      clock.moveTo(clock.now() + 1_000)
      for (const { runId: id, status } of (await client.list()).runs)
        if (status !== 'completed') await runOnce(world, registry, id, { lease: { owner: 'o', ms: 500 } })
    }
    expect(await client.result(runId)).toEqual(SUNG)
    expect(await asked).toBe(`${CANARY} echoed`)
    const stored = JSON.stringify([...table.items()].map(({ item }) => item)) + JSON.stringify(aws.objects.list())
    expect(stored).not.toContain(CANARY)
    expect(stored).toContain('customer:1')
  })

  it('a task and its checkpoint are coded too, and the worker gets them as they were', async () => {
    const hands = workflow('hands', async (ctx, note: string) => ctx.task('fold', { note }))
    const env = await testEnv({ workflows: [hands], codec: shroud().codec })
    let attempts = 0
    env.worker('fold', async (task) => {
      if (++attempts === 1) return task.pause('rest', '1m', { folds: CANARY })
      return { folded: task.input, from: task.lastCheckpoint }
    })
    const run = await env.start(hands, CANARY)
    expect(await run.result()).toEqual({ folded: { note: CANARY }, from: { folds: CANARY } })
    expect(JSON.stringify([await env.store.get(run.runId), await env.store.frames(run.runId)])).not.toContain(CANARY)
  })

  it('a list shows what kind of error it was, and not what it said', async () => {
    const falls = workflow('falls', async () => {
      throw new TypeError(CANARY)
    })
    const env = await testEnv({ workflows: [falls], codec: shroud().codec })
    const run = await env.start(falls, undefined)
    await expect(run.result()).rejects.toThrow(CANARY)
    expect((await env.client.list()).runs[0]!.error).toMatchObject({
      name: 'TypeError',
      message: '(encoded)',
      incident: { name: 'TypeError', says: '(encoded)' },
    })
    expect(JSON.stringify(await env.client.list())).not.toContain(CANARY)
  })

  it('what was stored before is as it was', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'overwinter-codec-'))
    const options = { path: join(folder, 'runs.db'), workflows: [bird, chick], log: () => {} }
    const before = await Local.open(options)
    const { runId } = await before.start(bird, CANARY)
    await before.close()
    const after = await Local.open({ ...options, codec: shroud().codec })
    await after.signal(runId, sing, `${CANARY} sung`)
    await after.ask(runId, echo, CANARY)
    expect(await after.result(runId)).toEqual(SUNG)
    await after.close()
    rmSync(folder, { recursive: true })
  })

  it('the same start is recognised, though the same input is stored differently each time', async () => {
    let serial = 0
    const codec: Codec = {
      encode: (json) => `${++serial} ${json}`,
      decode: (coded) => coded.slice(coded.indexOf(' ') + 1),
    }
    const env = await testEnv({ workflows: [chick], codec })
    await env.start(chick, CANARY, { id: 'one' })
    expect(await env.client.start(chick, CANARY, { id: 'one' })).toMatchObject({ created: false })
    await expect(env.client.start(chick, 'other', { id: 'one' })).rejects.toThrow('exists already')
  })
})

it('code without the codec does not take what it finds for data, and the run goes on with the codec', async () => {
  const go = signal<void>('go')
  const charge = workflow('charge', async (ctx, { cents }: { cents: number }) => {
    const paid = await ctx.step('pay', () => cents)
    await ctx.waitFor(go)
    return paid + cents
  })
  const { world: without, clock } = openAwsInMemory({ seed: 'taken back' })
  const world = withCodec(without, shroud().codec)
  const registry = new Registry([charge])
  const client = new Client(world, registry)
  const take = async (of: typeof world) => {
    clock.moveTo(clock.now() + 60_000)
    return runOnce(of, registry, 'r', { lease: { owner: 'o', ms: 500 } })
  }
  await client.start(charge, { cents: 5 }, { id: 'r' })
  await take(world)
  await client.signal('r', go)
  await expect(take(without)).rejects.toThrow('deploy with the `codec` that it was stored with')
  await expect(new Client(without, registry).get('r')).resolves.toMatchObject({
    input: { '~coded': expect.any(String) },
  })
  await take(world)
  expect(await client.result('r')).toBe(10)
  await expect(new Client(without, registry).result('r')).rejects.toThrow('encoded by a codec')
})

describe('when a key is gone', () => {
  const asleep = workflow('asleep', { tags: () => ['customer:1'] }, async (ctx, note: string) => {
    const heard = await ctx.step('hear', () => note)
    await ctx.sleep('rest', '1h')
    return heard
  })

  it('the run can still be found, and says what cannot be read and why', async () => {
    const { codec, lost } = shroud()
    const env = await testEnv({ workflows: [asleep], codec })
    const run = await env.start(asleep, CANARY)
    await run.result()
    lost.add('customer:1')
    const seen = JSON.parse(JSON.stringify(await run.get()))
    expect(seen).toMatchObject({
      status: 'completed',
      tags: ['customer:1'],
      input: { '~unreadable': "the key of 'customer:1' was destroyed" },
    })
    expect(JSON.stringify(await run.history())).toContain('was destroyed')
    await expect(env.client.result(run.runId)).rejects.toThrow(GoneError)
  })

  it('nothing of it is taken over into another run', async () => {
    const { codec, lost } = shroud()
    const env = await testEnv({ workflows: [asleep], codec })
    const run = await env.start(asleep, CANARY)
    await run.result()
    lost.add('customer:1')
    await expect(env.client.rerun(run.runId, { from: 'rest', id: 'again' })).rejects.toThrow(
      "cannot be taken over either: the key of 'customer:1'",
    )
    expect(await env.store.get('again')).toBeUndefined()
  })

  it('a run that sleeps does not go on with what it cannot read, and others are not harmed', async () => {
    const { codec, lost } = shroud()
    const env = await testEnv({ workflows: [asleep, chick], codec })
    const run = await env.start(asleep, CANARY)
    await env.settle()
    lost.add('customer:1')
    await env.advance('2d')
    expect(await run.status()).toBe('stuck')
    expect((await run.get()).error).toMatchObject({
      message: expect.stringContaining("the key of 'customer:1' was destroyed"),
    })
    lost.clear()
    await env.client.retry(run.runId)
    expect(await run.result()).toBe(CANARY)
  })
})

describe('a codec that is none', () => {
  it.each([
    ['has no default export', {}],
    ['exports a function', { default: () => '' }],
    ['has no decode', { default: { encode: () => '' } }],
  ])('is refused where its module %s, before anything is stored in plain', async (_, module) => {
    const { codecOf } = await import('../../sdk/codec/codec.ts')
    expect(() => codecOf(module)).toThrow('must have a codec as its default export')
  })

  it('gives something else than text: nothing is stored', async () => {
    const codec = { encode: () => 5, decode: () => '' } as unknown as Codec
    const env = await testEnv({ workflows: [chick], codec })
    await expect(env.start(chick, CANARY)).rejects.toThrow("the codec's encode gave number and must give a string")
    expect((await env.client.list()).runs).toEqual([])
  })
})
