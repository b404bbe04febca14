import { expect, test } from 'vitest'
import { limit, workflow } from '../../sdk/index.ts'
import { slowCloud } from '../outside/slow-cloud.ts'
import { oneHolder } from './one-holder.ts'

test.each(['terminate', 'cancel'] as const)(
  'a run whose step was granted, and that is to %s before it has heard of it, releases the slot to the next',
  async (act) => {
    const { client, next, last, takeNext, leave, statusOfLast } = await oneHolder(`a-${act}`)
    expect((await client.get(last)).status).toBe('waiting')
    await leave()
    if (act === 'terminate') await client.terminate(next)
    else {
      await client.cancel(next)
      await takeNext()
    }
    expect(await statusOfLast()).toBe('completed')
  },
)

test('an at-most-once step for which its runner had no time left was not begun, and is run by the next', async () => {
  let ran = 0
  const once = workflow('once', async (ctx) => ctx.step('pay', () => ++ran, { semantics: 'at-most-once' }))
  const { open, take, wait, clock } = slowCloud([once])
  const client = open()
  const { runId } = await client.start(once)
  await take(client, runId, { deadline: clock.now() + 4_000 })
  await wait(60_000)
  await take(client, runId)
  expect(await client.get(runId)).toMatchObject({ status: 'completed', output: 1 })
})

test('a limited step of a run that is parked releases its slot to the next', async () => {
  const one = limit('a-parked', { concurrency: 1 })
  const hold = workflow('hold', async (ctx) => ctx.step('hold', () => new Promise<void>(() => {}), { limit: one }))
  const quick = workflow('quick', async (ctx) => ctx.step('go', () => 1, { limit: one }))
  const { open, take, wait } = slowCloud([hold, quick])
  const client = open()
  const a = await client.start(hold)
  let behind: string | undefined
  // Each of them dies in the middle of the step.
  for (let i = 0; i < 12; i++) {
    const at = open()
    void take(at, a.runId, { lease: { owner: `r${i}`, ms: 1_000 } }).catch(() => {})
    await wait(300)
    const { world } = at
    world.store.renew = () => new Promise(() => {})
    if (i === 0) {
      behind = (await client.start(quick)).runId
      await take(client, behind)
      expect((await client.get(behind)).status).toBe('waiting')
    }
    await wait(2_000)
  }
  const status = (await client.get(a.runId)).status
  expect(status).toBe('stuck')
  for (let i = 0; i < 10; i++) {
    await wait(60_000)
    await take(client, behind!)
  }
  expect((await client.get(behind!)).status).toBe('completed')
})

/** The runner dies after its nth call, the next one comes when the lease is over. */
test.each(['cancelled', 'raced'] as const)(
  'a queued step that is not wanted any more (%s) takes no slot, whenever its runner dies',
  async (how) => {
    const bad: number[] = []
    for (let n = 1; n <= 16; n++) {
      const one = limit('a-unwanted', { concurrency: 1 })
      let release = () => {}
      const hold = workflow('hold', async (ctx) =>
        ctx.step('hold', () => new Promise<void>((resolve) => (release = resolve)), { limit: one }),
      )
      const quick = workflow('quick', async (ctx) => ctx.step('go', () => 1, { limit: one }))
      const unsure = workflow('unsure', async (ctx) => {
        try {
          await ctx.race('which', { step: (c) => c.step('go', () => 1, { limit: one }), time: (c) => c.sleep('10m') })
        } finally {
          await ctx.sleep('30d')
        }
      })
      const { open, take, wait, stop } = slowCloud([hold, quick, unsure], `${n}`)
      const client = open()
      const a = await client.start(hold)
      const taking = take(client, a.runId)
      await wait(1_000)
      const b = await client.start(unsure)
      await take(client, b.runId)
      const c = await client.start(quick)
      await take(client, c.runId)
      if (how === 'cancelled') await client.cancel(b.runId)
      else await wait(601_000)
      void take(
        open((nth) => nth === n),
        b.runId,
      )
      await wait(40_000)
      await take(client, b.runId)
      expect((await client.get(b.runId)).status).toBe('sleeping')
      release()
      await taking
      for (let i = 0; i < 5; i++) {
        await wait(60_000)
        await take(client, b.runId)
        await take(client, c.runId)
      }
      if ((await client.get(c.runId)).status !== 'completed') bad.push(n)
      stop()
    }
    expect(bad).toEqual([])
  },
  60_000,
)

test('several runners that may die at any call never exceed the limit, and all runs end', async () => {
  for (let seed = 0; seed < 12; seed++) {
    let inside = 0
    let most = 0
    const one = limit('a-dies', { concurrency: 2 })
    const w = workflow('w', { concurrency: { limit: 4 } }, async (ctx, n: number) => {
      await ctx.step(
        'a',
        async () => {
          most = Math.max(most, ++inside)
          await wait(50)
          inside--
        },
        { limit: one },
      )
      await ctx.sleep('1s')
      await ctx.step(
        'b',
        async () => {
          most = Math.max(most, ++inside)
          await wait(50)
          inside--
        },
        { limit: one },
      )
      return n
    })
    const { open, take, wait, random, stop } = slowCloud([w], `seed ${seed}`)
    const client = open()
    const ids: string[] = []
    for (let i = 0; i < 8; i++) {
      const mortal = open((nth) => nth === Math.floor(random.next() * 12))
      void mortal.start(w, i, { id: `r${i}` }).catch(() => {})
      await wait(100)
      await client.start(w, i, { id: `r${i}` }).catch(() => {})
      ids.push(`r${i}`)
    }
    for (let round = 0; round < 25; round++) {
      for (const id of ids) {
        const dying = round < 6 && random.next() < 0.5
        const at = dying ? open((nth) => nth === 2 + Math.floor(random.next() * 20)) : client
        const done = take(at, id).catch(() => {})
        if (dying) void done
        else await Promise.race([done, wait(5_000)])
      }
      await wait(35_000)
      // The sweeper's part.
      await client.world.store.checkLimiters(client.world.clock.now(), 100)
    }
    await wait(3_700_000)
    for (let round = 0; round < 5; round++) {
      await client.world.store.checkLimiters(client.world.clock.now(), 100)
      for (const id of ids) await take(client, id)
      await wait(62_000)
    }
    const states = await Promise.all(ids.map(async (id) => (await client.get(id)).status))
    stop()
    expect([seed, states]).toEqual([seed, Array(8).fill('completed')])
    expect(most).toBeLessThanOrEqual(2 + 2)
  }
}, 60_000)

test('a runner of coalesced starts may die anywhere: each input is in one run, once', async () => {
  const bad: unknown[] = []
  for (let n = 1; n <= 24; n++) {
    const w = workflow('w', { batch: { size: 3, wait: '1m' } }, async (ctx, list: number[]) =>
      ctx.step('x', () => list),
    )
    const { open, take, wait, stop } = slowCloud([w], `${n}`)
    const client = open()
    const ids = new Set<string>()
    for (let k = 0; k < 5; k++) ids.add((await client.start(w, k)).runId)
    await wait(61_000)
    for (const id of ids)
      void take(
        open((nth) => nth === n),
        id,
      ).catch(() => {})
    await wait(200)
    for (let k = 5; k < 8; k++) ids.add((await client.start(w, k)).runId)
    for (let i = 0; i < 4; i++) {
      await wait(61_000)
      for (const id of ids) await take(client, id)
    }
    const outputs = (await Promise.all([...ids].map(async (id) => (await client.get(id)).output as number[])))
      .flat()
      .sort()
    if (String(outputs) !== '0,1,2,3,4,5,6,7') bad.push([n, outputs])
    stop()
  }
  expect(bad).toEqual([])
}, 60_000)

test.each(['cancel-running', 'queue-latest'] as const)(
  'a start of a singleton (%s) that dies anywhere and is repeated does what it says',
  async (onConflict) => {
    const bad: unknown[] = []
    for (let n = 1; n <= 34; n++) {
      const w = workflow('w', { singleton: { key: () => 'k', onConflict } }, async (ctx, _m: number) => ctx.sleep('1d'))
      const { open, take, wait, stop } = slowCloud([w], `${n}`)
      const client = open()
      await client.start(w, 0, { id: 'a' })
      await take(client, 'a')
      if (onConflict === 'queue-latest') await client.start(w, 1, { id: 'b' })
      await wait(1_000)
      void open((nth) => nth === n)
        .start(w, 2, { id: 'c' })
        .catch(() => {})
      await wait(1_000)
      await client.start(w, 2, { id: 'c' })
      for (let i = 0; i < 6; i++) {
        for (const id of ['a', 'b', 'c']) await take(client, id).catch(() => {})
        await wait(31_000)
      }
      const status = async (id: string) => (await client.get(id)).status
      const got =
        onConflict === 'queue-latest' ? [await status('b'), await status('c')] : [await status('a'), await status('c')]
      const want = onConflict === 'queue-latest' ? ['cancelled', 'queued'] : ['cancelled', 'sleeping']
      if (String(got) !== String(want)) bad.push([n, got])
      stop()
    }
    expect(bad).toEqual([])
  },
  60_000,
)

test('many steps of one run at a limit write no more for each than few do', async () => {
  const cost = async (n: number) => {
    const one = limit('a-many', { concurrency: 2 })
    const all = workflow(
      'all',
      async (ctx) =>
        void (await ctx.map('each', [...Array(n).keys()], (c) => c.step('go', () => wait(1_000), { limit: one }), {
          concurrency: 1_000,
        })),
    )
    const { open, take, wait, writes, clock, stop } = slowCloud([all], 'many')
    const client = open()
    const { runId } = await client.start(all)
    const begun = clock.now()
    while ((await client.get(runId)).status !== 'completed') {
      await take(client, runId)
      await wait(10)
    }
    stop()
    return { n, writesPerStep: writes.count / n, seconds: (clock.now() - begun) / 1_000, ideal: n / 2 }
  }
  const [few, many] = [await cost(10), await cost(80)]
  expect(many.writesPerStep).toBeLessThan(2 * few.writesPerStep)
}, 60_000)

test('a batch of large inputs is one run', async () => {
  const w = workflow('w', { batch: { size: 60, wait: '1m' } }, async (_, list: string[]) => list.length)
  const { open, take, wait } = slowCloud([w], 'large')
  const client = open()
  const ids = new Set<string>()
  for (let i = 0; i < 60; i++) ids.add((await client.start(w, String(i).repeat(20_000).slice(0, 20_000))).runId)
  await wait(61_000)
  for (const id of ids) await take(client, id)
  expect(await Promise.all([...ids].map(async (id) => (await client.get(id)).output))).toEqual([60])
}, 60_000)

test('a full batch begins at once, also where its starts come at once', async () => {
  const slow: number[] = []
  for (let seed = 0; seed < 20; seed++) {
    const w = workflow('w', { batch: { size: 2, wait: '1d' } }, async (_, list: number[]) => list.length)
    const { open, take, wait, stop } = slowCloud([w], `full ${seed}`)
    const client = open()
    const started = await Promise.all([open().start(w, 1), open().start(w, 2)])
    await wait(60_000)
    const ids = new Set(started.map(({ runId }) => runId))
    for (const id of ids) await take(client, id)
    const states = await Promise.all([...ids].map(async (id) => (await client.get(id)).status))
    if (ids.size !== 1 || states[0] !== 'completed') slow.push(seed)
    stop()
  }
  expect(slow).toEqual([])
}, 60_000)

test('a runner that dies before what it announced has begun, and a pause before the next one: nothing is lost', async () => {
  const bad: unknown[] = []
  for (let n = 1; n <= 16; n++) {
    const child = workflow('child', async (ctx) => ctx.step('go', () => 'done'))
    const parent = workflow('parent', async (ctx) => ctx.run(child, undefined, { id: 'child' }))
    const { open, take, wait, stop } = slowCloud([parent, child], `announced ${n}`)
    const client = open()
    await client.start(parent, undefined, { id: 'parent' })
    void take(
      open((nth) => nth === n),
      'parent',
    ).catch(() => {})
    await wait(40_000)
    await client.pause({ all: true })
    for (const id of ['parent', 'child']) await take(client, id)
    await wait(40_000)
    await client.resume({ all: true })
    for (let i = 0; i < 6; i++) {
      await wait(10_000)
      for (const id of ['parent', 'child']) await take(client, id)
    }
    await wait(3_700_000)
    for (let i = 0; i < 3; i++) {
      for (const id of ['parent', 'child']) await take(client, id)
      await wait(10_000)
    }
    const { status, waitingFor } = await client.get('parent')
    if (status !== 'completed') bad.push([n, status, waitingFor])
    stop()
  }
  expect(bad).toEqual([])
}, 60_000)

test('a runner that dies before what it announced has begun loses nothing, also without a pause', async () => {
  const bad: unknown[] = []
  for (let n = 1; n <= 16; n++) {
    const child = workflow('child', async (ctx) => ctx.step('go', () => 'done'))
    const parent = workflow('parent', async (ctx) => ctx.run(child, undefined, { id: 'child' }))
    const { open, take, wait, stop } = slowCloud([parent, child], `announced ${n}`)
    const client = open()
    await client.start(parent, undefined, { id: 'parent' })
    void take(
      open((nth) => nth === n),
      'parent',
    ).catch(() => {})
    await wait(40_000)
    for (let i = 0; i < 6; i++) {
      await wait(10_000)
      for (const id of ['parent', 'child']) await take(client, id)
    }
    const { status, waitingFor } = await client.get('parent')
    if (status !== 'completed') bad.push([n, status, waitingFor])
    stop()
  }
  expect(bad).toEqual([])
}, 60_000)

test('a paused run whose body takes longer than its runner has is queued before the runner has to stop', async () => {
  let begun = 0
  const long = workflow('long', async (ctx) =>
    ctx.step('work', () => (++begun === 1 ? new Promise<void>(() => {}) : undefined)),
  )
  const { open, take, wait, clock } = slowCloud([long])
  const client = open()
  const { runId } = await client.start(long)
  const visit = take(client, runId, { deadline: clock.now() + 60_000 })
  await wait(1_000)
  await client.pause({ run: runId })
  await wait(59_000)
  expect((await client.get(runId)).status).toBe('queued')
  await visit
  await client.resume({ run: runId })
  await take(client, runId)
  expect([(await client.get(runId)).status, begun]).toEqual(['completed', 2])
})
