import { describe, expect, it, vi } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { counted, deaf, runner, START, turns } from './runner-fixture.ts'

const never = () => new Promise<never>(() => {})

describe('a runner does only what it has a reason for', () => {
  it('does not look for mail where nothing has come', async () => {
    const { run, world } = await runner(
      workflow('w', async (ctx) => {
        await ctx.step('a', () => 1)
        await ctx.step('b', () => 2)
        ctx.progress(50)
        await ctx.step('c', () => 3)
        await ctx.sleep('1h')
      }),
    )
    deaf(world)
    const looks = counted(world, 'inbox')
    expect(await run()).toEqual({ status: 'suspended' })
    expect(looks()).toBe(0)
  })

  it('reads the inbox once when it is notified', async () => {
    let finish!: () => void
    const { run, world, store } = await runner(
      workflow('w', async (ctx) => {
        await ctx.step('a', () => new Promise<void>((resolve) => (finish = resolve)))
        await ctx.step('b', () => 2)
      }),
    )
    let tell!: () => void
    store.watch = (_id, onChange) => {
      tell = onChange
      return () => {}
    }
    const looks = counted(world, 'inbox')
    const outcome = run()
    await turns()
    tell()
    await turns()
    finish()
    expect(await outcome).toEqual({ status: 'completed' })
    expect(looks()).toBe(1)
  })

  it('asks for no timer while bodies end by themselves', async () => {
    const { run, clock } = await runner(
      workflow('w', async (ctx) => {
        await ctx.step('at once', () => 1)
        await ctx.step('soon', async () => 2)
      }),
    )
    const timers = vi.spyOn(clock, 'at')
    expect(await run()).toEqual({ status: 'completed' })
    expect(timers).not.toHaveBeenCalled()
  })

  it('leaves no timer behind', async () => {
    let finish!: () => void
    const { run, clock } = await runner(
      workflow('w', async (ctx) => ctx.step('a', () => new Promise<void>((resolve) => (finish = resolve)))),
    )
    const outcome = run()
    await turns()
    expect(clock.next()).toBe(START + 10_000)
    finish()
    await outcome
    expect(clock.next()).toBeUndefined()
  })

  it('renews its lease when a third of it is over, and not whenever something happens', async () => {
    let finish!: () => void
    const { run, clock, world } = await runner(
      workflow('w', async (ctx) =>
        Promise.all([ctx.step('a', () => new Promise<void>((resolve) => (finish = resolve))), ctx.step('b', never)]),
      ),
    )
    deaf(world)
    const renewals = counted(world, 'renew')
    const looks = counted(world, 'inbox')
    void run()
    await turns()
    clock.moveTo(START + 9_999)
    finish()
    await turns()
    expect(renewals()).toBe(0)
    clock.moveTo(START + 10_000)
    await turns()
    expect(renewals()).toBe(1)
    clock.moveTo(START + 19_999)
    await turns()
    expect(renewals()).toBe(1)
    expect(looks()).toBe(0)
  })

  it('stops to watch a run that it lets go of', async () => {
    const { run, store } = await runner(workflow('w', async (ctx) => ctx.sleep('1h')))
    const unwatch = vi.fn()
    store.watch = () => unwatch
    await run()
    expect(unwatch).toHaveBeenCalledOnce()
  })

  it('writes nothing before the first step, and what it has heard before it waits any longer', async () => {
    const finish: ((value: number) => void)[] = []
    const body = () => new Promise<number>((resolve) => void finish.push(resolve))
    const { run, world, events } = await runner(
      workflow('w', async (ctx) => Promise.all([ctx.step('a', body), ctx.step('b', body)])),
    )
    const commits = counted(world, 'commit')
    const outcome = run()
    await turns()
    expect([finish.length, commits()]).toEqual([2, 0])
    finish[0]!(1)
    await turns()
    expect(await events()).toEqual(['step.completed'])
    finish[1]!(2)
    expect(await outcome).toEqual({ status: 'completed' })
    expect(commits()).toBe(2)
  })
})
