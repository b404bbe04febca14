import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { VirtualClock } from '../../sdk/testing/index.ts'
import { until, WorkerApi } from './fixture.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'overwinter-instances-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('several instances on one database', () => {
  const both = async () => {
    const options = { path: join(folder, 'runs.db'), clock: new VirtualClock(Date.parse('2026-01-01T00:00:00Z')) }
    return [await WorkerApi.open(options), await WorkerApi.open(options)] as const
  }

  it('any of them takes what a worker says, whichever handed the task out', async () => {
    const [one, other] = await both()
    await using _ = one
    await using __ = other
    const id = await one.taken('run-1')
    expect((await other.resolve(id, { action: 'checkpoint', data: 'half', attempt: 1 })).status).toBe(200)
    expect((await one.poll()).body).toEqual([])
    expect((await other.poll()).body).toEqual([])
    expect((await other.resolve(id, { action: 'complete', output: 'done', attempt: 1 })).status).toBe(200)
    expect(await one.output('run-1')).toBe('done')
  })

  it('a poll at one hears of a task that a run at the other hands out', async () => {
    const [one, other] = await both()
    await using _ = one
    await using __ = other
    const poll = other.poll({ timeout_ms: 60_000 })
    await until(() => other.clock.next() !== undefined)
    await one.asked('run-1')
    expect((await poll).body).toMatchObject([{ run_id: 'run-1' }])
  })

  it('hand a task to one of many polls', async () => {
    const [one, other] = await both()
    await using _ = one
    await using __ = other
    for (let i = 0; i < 20; i++) await one.asked(`run-${i}`)
    const polls = await Promise.all(Array.from({ length: 30 }, (_, i) => [one, other][i % 2]!.poll({ max_tasks: 2 })))
    const taken: string[] = polls.flatMap(({ body }) => body.map((task: { run_id: string }) => task.run_id))
    for (let more = await one.poll({ max_tasks: 20 }); more.body.length > 0; more = await one.poll({ max_tasks: 20 })) {
      taken.push(...more.body.map((task: { run_id: string }) => task.run_id))
    }
    expect(taken.sort()).toEqual(Array.from({ length: 20 }, (_, i) => `run-${i}`).sort())
  })
})

describe('a restart between poll and resolve', () => {
  it('loses neither the task nor its checkpoint nor its deadline', async () => {
    const path = join(folder, 'runs.db')
    const before = await WorkerApi.open({ path })
    const done = await before.taken('run-1')
    const lost = await before.taken('run-2', { options: { heartbeatTimeout: '10s' } })
    await before.resolve(lost, { action: 'checkpoint', data: 'half' })
    const { clock } = before
    await before.local.close(0)

    await using after = await WorkerApi.open({ path, clock })
    expect((await after.resolve(done, { action: 'complete', output: 'done' })).status).toBe(200)
    expect(await after.output('run-1')).toBe('done')
    expect((await after.poll()).body).toEqual([])
    await after.pass(10_000)
    expect((await after.poll()).body).toMatchObject([{ task_id: lost, attempt: 2, checkpoint: 'half' }])
  })
})
