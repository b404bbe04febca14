import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const START = Date.parse('2026-01-01T12:00:00Z')

const nap = workflow('nap', async (ctx, minutes: number) => {
  await ctx.sleep('nap', minutes * MINUTE)
  return ctx.step('look', () => Date.now())
})

/** The wall clock of a machine is set, by hand or by the network, or the machine was asleep. Timers do not notice: they count on. */
describe('when the wall clock is moved while runs sleep', () => {
  let folder: string
  let local: Local
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'overwinter-clock-'))
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: START })
    local = await Local.open({ path: join(folder, 'runs.db'), workflows: [nap], log: () => {} })
    for (const minutes of [30, 90, 600]) {
      await local.start(nap, minutes, { id: `nap-${minutes}` })
      while ((await local.get(`nap-${minutes}`)).status !== 'sleeping') await turn()
    }
  })
  afterEach(async () => {
    vi.useRealTimers()
    await local.close(0)
    rmSync(folder, { recursive: true, force: true })
  })

  const turn = () => new Promise((resolve) => setImmediate(resolve))
  /** Lets the timers count on, and whatever follows from them happen. */
  const pass = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms)
    for (let i = 0; i < 200; i++) await turn()
  }
  const status = async (id: string) => (await local.get(id)).status

  it('an hour ahead: what is due by the new time wakes within a minute, the rest keeps its time', async () => {
    vi.setSystemTime(START + HOUR)
    await pass(MINUTE)
    expect(await status('nap-30')).toBe('completed')
    expect(await status('nap-90')).toBe('sleeping')
    await pass(28 * MINUTE)
    expect(await status('nap-90')).toBe('sleeping')
    await pass(2 * MINUTE)
    expect(await local.result<number>('nap-90')).toBeGreaterThanOrEqual(START + 90 * MINUTE)
    expect(await status('nap-600')).toBe('sleeping')
  })

  it('an hour ahead: a sleep that begins after that is not held up by the timers from before it', async () => {
    vi.setSystemTime(START + HOUR)
    await local.start(nap, 1, { id: 'later' })
    while ((await status('later')) !== 'sleeping') await turn()
    await pass(2 * MINUTE)
    expect(await status('later')).toBe('completed')
  })

  it('an hour back: nothing wakes early by the new time, and everything wakes when it is due by it', async () => {
    vi.setSystemTime(START - HOUR)
    await pass(89 * MINUTE)
    expect(await status('nap-30')).toBe('sleeping')
    await pass(2 * MINUTE)
    expect(await local.result<number>('nap-30')).toBeGreaterThanOrEqual(START + 30 * MINUTE)
    await pass(60 * MINUTE)
    expect(await local.result<number>('nap-90')).toBeGreaterThanOrEqual(START + 90 * MINUTE)
    expect(await status('nap-600')).toBe('sleeping')
  })

  it('an hour back and ahead again: as if nothing had been', async () => {
    vi.setSystemTime(START - HOUR)
    await pass(MINUTE)
    vi.setSystemTime(START + MINUTE)
    await pass(28 * MINUTE)
    expect(await status('nap-30')).toBe('sleeping')
    await pass(2 * MINUTE)
    expect(await status('nap-30')).toBe('completed')
  })
})
