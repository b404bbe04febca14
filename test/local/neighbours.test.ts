import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Client } from '../../sdk/client/client.ts'
import { schedule, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { Runner } from '../../sdk/runner/runner.ts'
import { TaskBroker } from '../../sdk/tasks/broker.ts'
import { VirtualClock } from '../../sdk/testing/index.ts'
import { type AnyWorkflow, Registry } from '../../sdk/workflow.ts'
import { LocalWorld } from '../../sdk/worlds/local/world.ts'
import { IS_LONG } from '../outside/amount.ts'
import { PATIENCE_MS } from '../outside/patience.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'overwinter-neighbours-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))
const path = () => join(folder, 'runs.db')

function damage(sql: string): void {
  const db = new DatabaseSync(path())
  db.exec(sql)
  db.close()
}

describe('a run that misbehaves harms no other run', () => {
  it('whatever it throws, leaves rejected or never awaits', () => {
    const program = new URL('./careless.ts', import.meta.url).pathname
    const said = execFileSync(process.execPath, ['--conditions=overwinter-source', program], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    expect(said.trim().split('\n')).toEqual([
      'derived promise of a cancelled wait: cancelled',
      'a branch that fails before it is awaited: completed',
      'a rejection that nobody ever awaits: completed',
      'a rejection left behind by a step: completed',
      'an exception in a timer of a step: failed',
      'an object without a prototype: failed',
      'bystander: unharmed',
    ])
  })

  it('and what is not a run’s still ends the process, as it does without us', () => {
    const script = `
      import { workflow } from 'overwinter'
      import { Local } from 'overwinter/local'
      const w = workflow('w', async (ctx) => ctx.step('s', () => 1))
      const local = await Local.open({ path: ':memory:', workflows: [w], log: () => {} })
      await local.startAndSettle(w, undefined)
      setTimeout(() => void Promise.reject(new Error('of the server itself')), 10)
      setTimeout(() => process.exit(0), 5_000)`
    const options = { encoding: 'utf8', cwd: new URL('../..', import.meta.url).pathname } as const
    const ended = spawnSync(
      process.execPath,
      ['--conditions=overwinter-source', '--input-type=module', '--eval', script],
      options,
    )
    expect(ended.status).not.toBe(0)
    expect(ended.stderr).toContain('of the server itself')
  })
})

describe('a run that cannot be loaded', () => {
  const nap = workflow('nap', async (ctx) => {
    await ctx.step('a', () => 1)
    await ctx.sleep('1h')
    return 'awake'
  })

  /** A file with two sleeping runs, one of which is then damaged; and a process that opens it an hour later. */
  async function opened(sql: string) {
    const first = await Local.open({ path: path(), workflows: [nap], log: () => {} })
    for (const id of ['damaged', 'whole']) await first.start(nap, undefined, { id })
    for (const id of ['damaged', 'whole'])
      while ((await first.get(id)).status !== 'sleeping') await new Promise((resolve) => setImmediate(resolve))
    await first.close()
    damage(sql)
    const clock = new VirtualClock(Date.now() + 3_600_000)
    const logged: string[] = []
    const world = new LocalWorld({ path: path(), clock, log: (_level, message) => void logged.push(message) })
    const runner = new Runner(world, { workflows: [nap] })
    await runner.start()
    const client = new Client(world, new Registry([nap]))
    const began = clock.now()
    const untilEnded = async (id: string) => {
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve))
        const run = await world.store.get(id)
        if (run!.status === 'stuck' || run!.status === 'completed') return run!
        const next = clock.next()
        if (runner.isIdle && next !== undefined) clock.moveTo(next)
      }
    }
    const close = async () => {
      await runner.stop(0)
      world.close()
    }
    return { client, logged, untilEnded, close, elapsed: () => clock.now() - began }
  }

  it('is tried again with growing rests, then parked with the reason; its neighbours go on', async () => {
    const { untilEnded, logged, close, elapsed } = await opened(
      `UPDATE frames SET events = replace(events, '"id"', '"id') WHERE run = (SELECT key FROM runs WHERE id = 'damaged')`,
    )
    expect(await untilEnded('whole')).toMatchObject({ status: 'completed', output: 'awake' })
    const parked = await untilEnded('damaged')
    expect(parked).toMatchObject({ status: 'stuck', error: { message: expect.stringContaining('JSON') } })
    expect(elapsed()).toBeGreaterThan(10_000)
    expect(logged.length).toBeLessThan(20)
    await close()
  })

  it.runIf(IS_LONG)(
    'because its journal is too large is parked with a word on what to do, and nothing runs again',
    async () => {
      const { untilEnded, close } = await opened(
        `UPDATE frames SET events = events || ',' || json_object('type', 'changed', 'id', printf('%.*c', 270000000, 'x')) WHERE run = (SELECT key FROM runs WHERE id = 'damaged')`,
      )
      expect(await untilEnded('whole')).toMatchObject({ status: 'completed' })
      expect((await untilEnded('damaged')).error!.message).toMatch(/257 MB.*continueAsNew/)
      await close()
    },
  )

  it('because a newer version wrote it is left exactly as it is', async () => {
    const { client, untilEnded, logged, close } = await opened(`UPDATE runs SET format = 99 WHERE id = 'damaged'`)
    expect(await untilEnded('whole')).toMatchObject({ status: 'completed' })
    expect(logged.join()).toContain("run 'damaged' was written by a newer version of overwinter (format 99")
    expect((await client.list()).runs).toHaveLength(2)
    await close()
    const db = new DatabaseSync(path())
    expect(db.prepare(`SELECT status FROM runs WHERE id = 'damaged'`).get()).toMatchObject({ status: 'sleeping' })
    db.close()
  })
})

describe('a second process on the same file', () => {
  const tick = workflow('tick', async () => 'tock')
  const a = workflow('a', async (ctx) => {
    for (let i = 0; i < 4; i++) await ctx.sleep(40)
    return 'done'
  })
  const open = (workflows: AnyWorkflow[], schedules?: ReturnType<typeof schedule>[]) =>
    Local.open({ path: path(), workflows, log: () => {}, ...(schedules && { schedules }) })

  it('that does not know a workflow leaves its runs to those who do', async () => {
    await using first = await open([a])
    await using second = await open([])
    await first.start(a, undefined, { id: 'r' })
    expect(await first.settled('r', { timeout: PATIENCE_MS })).toMatchObject({ status: 'completed', output: 'done' })
    expect(await second.get('r')).toMatchObject({ status: 'completed' })
  })

  it('that has no schedules leaves those of the others alone', async () => {
    await using first = await open([tick], [schedule('daily', { cron: '0 3 * * *' }, tick, undefined)])
    await using second = await open([a])
    expect(await first.schedules.list()).toMatchObject([{ name: 'daily' }])
    expect(await second.schedules.list()).toMatchObject([{ name: 'daily' }])
  })
})

describe('a task that cannot be read', () => {
  it('does not keep its neighbours from being handed out', async () => {
    const w = workflow('w', async (ctx) =>
      Promise.all([ctx.task('chore', 1, { name: 'bad' }), ctx.task('chore', 2, { name: 'good' })]),
    )
    await using local = await Local.open({ path: path(), workflows: [w], log: () => {} })
    await local.start(w, undefined, { id: 'r' })
    while ((await local.get('r')).status !== 'waiting') await new Promise((resolve) => setImmediate(resolve))
    damage(`UPDATE tasks SET body = '{' WHERE id = 'r.bad'`)
    const broker = new TaskBroker(local.world)
    expect((await broker.poll({ types: ['chore'], most: 10, timeoutMs: 0 })).map(({ step_id }) => step_id)).toEqual([
      'good',
    ])
    expect(await broker.poll({ types: ['chore'], most: 10, timeoutMs: 0 })).toEqual([])
  })
})
