import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { VirtualClock } from '../../sdk/testing/index.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const HOUR = 3_600_000
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'overwinter-recovery-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const quiet = { log: () => {} }
const untilIdle = async (local: Local) => {
  do await new Promise((resolve) => setImmediate(resolve))
  while (!local.runner.isIdle)
}

describe('a local world that was down for a while', () => {
  it('fires overdue sleepers in a burst, each once, and the rest keep their exact time', async () => {
    const woken: string[] = []
    const sleeper = workflow('sleeper', async (ctx, hours: number) => {
      await ctx.sleep('nap', hours * HOUR)
      await ctx.step('woke', ({ idempotencyKey }) => void woken.push(idempotencyKey))
      return ctx.now()
    })
    const open = (now: number) => {
      const clock = new VirtualClock(now)
      return Local.open({ path: join(folder, 'runs.db'), clock, workflows: [sleeper], ...quiet }).then((local) => ({
        local,
        clock,
      }))
    }
    const before = await open(START)
    for (let i = 0; i < 40; i++) await before.local.start(sleeper, i < 20 ? 1 : 10, { id: `s${i}` })
    await untilIdle(before.local)
    await before.local.close()

    const { local, clock } = await open(START + 2 * HOUR)
    await untilIdle(local)
    expect(woken.sort()).toEqual(Array.from({ length: 20 }, (_, i) => `s${i}/woke`).sort())
    expect(await local.get('s30')).toMatchObject({ status: 'sleeping', wakeAt: START + 10 * HOUR })
    clock.moveTo(START + 10 * HOUR - 1)
    await untilIdle(local)
    expect(woken).toHaveLength(20)
    clock.moveTo(START + 10 * HOUR)
    expect(await local.result('s30')).toBe(START + 10 * HOUR)
    await untilIdle(local)
    expect(woken).toHaveLength(40)
    await local.close()
  })

  it('wakes every one of thousands that are due at the same moment', async () => {
    const sleeper = workflow('sleeper', async (ctx) => ctx.sleep('nap', '1h'))
    const clock = new VirtualClock(START)
    const local = await Local.open({ path: ':memory:', clock, workflows: [sleeper], ...quiet })
    await Promise.all(Array.from({ length: 2_500 }, (_, i) => local.start(sleeper, undefined, { id: `s${i}` })))
    await untilIdle(local)
    clock.moveTo(START + HOUR)
    await untilIdle(local)
    expect((await local.list({ status: 'sleeping' })).runs).toEqual([])
    await local.close()
  })

  it('forgets runs whose retention has passed, and only those', async () => {
    const short = workflow('short', { retention: '1h' }, async () => 1)
    const long = workflow('long', { retention: '30d' }, async () => 1)
    const open = (now: number) =>
      Local.open({ path: join(folder, 'runs.db'), clock: new VirtualClock(now), workflows: [short, long], ...quiet })
    const before = await open(START)
    await before.start(short, undefined, { id: 'gone', tags: ['t'] })
    await before.start(long, undefined, { id: 'kept' })
    await untilIdle(before)
    await before.close()
    const after = await open(START + 2 * HOUR)
    expect((await after.list()).runs.map(({ runId }) => runId)).toEqual(['kept'])
    expect((await after.list({ tag: 't' })).runs).toEqual([])
    await after.close()
  })
})

describe('group commit', () => {
  it('one bad operation does not spoil the others in its transaction', async () => {
    const { Database } = await import('../../sdk/worlds/local/database.ts')
    const db = new Database(join(folder, 'runs.db'))
    const insert = (tag: string, run: number) =>
      db.write(() => db.run('INSERT INTO tags (tag, run) VALUES (?, ?)', tag, run))
    const outcomes = await Promise.allSettled([insert('a', 1), insert('a', 1), insert('b', 2)])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(db.rows('SELECT tag FROM tags ORDER BY tag')).toMatchObject([{ tag: 'a' }, { tag: 'b' }])
    db.close()
  })
})

describe('a local world that is closed while a step is under way', () => {
  it('hands the run back: the next one takes it at once, and what the old step gives counts for nothing', async () => {
    let finish = () => {}
    let entered = 0
    const w = workflow('w', async (ctx) =>
      ctx.step('long', () =>
        ++entered === 1 ? new Promise<string>((resolve) => (finish = () => resolve('old'))) : 'new',
      ),
    )
    const open = () =>
      Local.open({ path: join(folder, 'runs.db'), clock: new VirtualClock(START), workflows: [w], ...quiet })
    const before = await open()
    await before.start(w, undefined, { id: 'r' })
    while (entered === 0) await new Promise((resolve) => setImmediate(resolve))
    const { store } = before.world
    await before.runner.stop(0)
    await using after = await open()
    expect(await after.result('r')).toBe('new')
    finish()
    await new Promise((resolve) => setImmediate(resolve))
    expect(await store.get('r')).toMatchObject({ status: 'completed', output: 'new' })
    before.world.close()
  })
})
