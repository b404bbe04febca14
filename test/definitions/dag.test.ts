import { describe, expect, expectTypeOf, it } from 'vitest'
import { SeededRandom } from '../../sdk/base/random.ts'
import { Client } from '../../sdk/client/client.ts'
import { type Definition, dag, define, handler } from '../../sdk/definitions/index.ts'
import { interpret } from '../../sdk/definitions/interpret.ts'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { currentProcess, delay } from '../sim/cloud.ts'
import { LocalCloud } from '../sim/local-cloud.ts'
import { NO_TROUBLE } from '../sim/trouble.ts'

describe('the builder', () => {
  it('makes the rate-limited pipeline', async () => {
    const callApi = () => 'called'
    const pipeline = dag('rate-limited-pipeline')
      .task('call-api', callApi, { timeout: '10s' })
      .sleep('cooldown', '30s', { after: 'call-api' })
      .task('next-call', callApi, { after: 'cooldown' })
      .build()
    const env = await testEnv({ workflows: [pipeline] })
    const start = env.clock.now()
    expect(await (await env.start(pipeline, undefined)).result()).toMatchObject({
      outputs: { 'call-api': 'called', 'next-call': 'called' },
    })
    expect(env.clock.now() - start).toBe(30_000)
  })

  it('gives a task the outputs of its parents, with their types', async () => {
    const order = dag<{ cents: number }>('order')
      .task('validate', ({ input }) => input.cents > 0)
      .task(
        'charge',
        ({ input, parents }) => {
          expectTypeOf(parents).toEqualTypeOf<Readonly<{ validate: boolean }>>()
          return parents.validate ? `charged ${input.cents}` : 'nothing'
        },
        { after: 'validate' },
      )
      .task('ship', ({ parents }) => `shipped, ${parents.charge}`, { after: 'charge' })
      .task('mail', ({ parents }) => `mailed, ${parents.charge}`, { after: ['charge'] })
      .task('close', ({ parents }) => [parents.ship, parents.mail], { after: ['ship', 'mail'] })
      .build()
    const env = await testEnv({ workflows: [order] })
    expect(await (await env.start(order, { cents: 5 })).result()).toMatchObject({
      outputs: { close: ['shipped, charged 5', 'mailed, charged 5'] },
    })
    const missing = 'nobody' as never
    expect(() =>
      dag('bad')
        .task('a', () => 1, { after: missing })
        .build(),
    ).toThrow("no step 'nobody'")
    // @ts-expect-error nor does it compile
    expect(() => dag('bad').task('a', () => 1, { after: 'nobody' })).not.toThrow()
  })
})

/** A graph of so many steps with up to three parents each, in random order of definition. */
function randomGraph(size: number, seed: string) {
  const random = new SeededRandom(seed)
  const steps = Array.from({ length: size }, (_, i) => {
    const after = new Set<string>()
    for (let k = 0; i > 0 && k < Math.floor(random.next() * 4); k++) after.add(`n${Math.floor(random.next() * i)}`)
    return { type: 'task', name: `n${i}`, handler: 'note', after: [...after] }
  })
  return {
    parents: new Map(steps.map(({ name, after }) => [name, after])),
    steps: steps.sort(() => random.next() - 0.5),
  }
}

/** Counts whatever is read of a definition. */
function countingLooks<T extends object>(value: T, counter: { looks: number }): T {
  return new Proxy(value, {
    get(target, property) {
      counter.looks++
      const member: unknown = Reflect.get(target, property)
      return typeof member === 'object' && member !== null ? countingLooks(member, counter) : member
    },
  })
}

describe('a graph of 1,000 steps', () => {
  it('runs each exactly once and never before its parents', async () => {
    const { steps, parents } = randomGraph(1_000, 'clean')
    const order: string[] = []
    const graph = define(
      { name: 'graph', steps },
      { handlers: [handler('note', ({ idempotencyKey }) => void order.push(idempotencyKey.split('/')[1]!))] },
    )
    const env = await testEnv({ workflows: [graph] })
    await (await env.start(graph, undefined)).result()
    expect(new Set(order).size).toBe(1_000)
    expect(order).toHaveLength(1_000)
    const place = new Map(order.map((name, i) => [name, i]))
    for (const [name, before] of parents)
      for (const parent of before) expect(place.get(parent)!).toBeLessThan(place.get(name)!)
  })

  it('runs each exactly once and in order despite crashes, lost and repeated wake-ups, and two runners at once', async () => {
    const { steps, parents } = randomGraph(1_000, 'trouble')
    const done = new Set<string>()
    const early: string[] = []
    const trouble = { ...NO_TROUBLE, crash: 0.1, stall: 0.1, loseWake: 0.3, repeatWake: 0.5, latency: 200 }
    const graph = define(
      { name: 'graph', steps },
      {
        handlers: [
          handler('note', async ({ idempotencyKey }) => {
            const name = idempotencyKey.split('/')[1]!
            for (const parent of parents.get(name)!) if (!done.has(parent)) early.push(`${name} before ${parent}`)
            await delay(50, currentProcess.getStore()!)
            done.add(name)
          }),
        ],
      },
    )
    const cloud = new LocalCloud({ seed: 'graph', trouble, deployments: () => [[graph]] })
    const world = cloud.observer()
    const client = new Client(world, cloud.workflows)
    await client.start('graph', undefined, { id: 'g' })
    const until = cloud.clock.now() + 3_600_000
    while (cloud.clock.now() < until && (await client.get('g')).status !== 'completed') await cloud.step()
    expect(cloud.failures).toEqual([])
    expect(await client.get('g')).toMatchObject({ status: 'completed' })
    // It was indeed taken from one process to the next, again and again.
    expect((await world.store.get('g'))!.epoch).toBeGreaterThan(5)
    expect(early).toEqual([])
    const completed = (await client.history('g'))
      .filter(({ type }) => type === 'step.completed')
      .map((event) => ('id' in event ? event.id : ''))
    expect(completed).toHaveLength(1_000)
    expect(new Set(completed).size).toBe(1_000)
  })

  it('costs as much as it has steps and arrows: with twice as many, twice as much is looked at', async () => {
    const looks = async (size: number) => {
      const { steps } = randomGraph(size, 'cost')
      const arrows = steps.reduce((sum, { after }) => sum + after.length, 0)
      const counter = { looks: 0 }
      const counted = countingLooks({ name: 'graph', steps } as Definition, counter)
      const parts = { handlers: new Map([['note', () => 1]]), workflows: new Map() }
      const graph = workflow('graph', (ctx, input) => interpret(ctx, counted, input, parts))
      const env = await testEnv({ workflows: [graph] })
      await (await env.start(graph, undefined)).result()
      return counter.looks / (size + arrows)
    }
    const [few, many] = [await looks(250), await looks(1_000)]
    expect(many / few).toBeGreaterThan(0.9)
    expect(many / few).toBeLessThan(1.1)
  })

  it('puts 200 parallel steps into at most 5 frames', async () => {
    const steps = [
      ...Array.from({ length: 200 }, (_, i) => ({ type: 'task', name: `n${i}`, handler: 'h', after: [] as string[] })),
      { type: 'task', name: 'end', handler: 'h', after: Array.from({ length: 200 }, (_, i) => `n${i}`) },
    ]
    const wide = define({ name: 'wide', steps }, { handlers: [handler('h', async () => 1)] })
    const env = await testEnv({ workflows: [wide] })
    const run = await env.start(wide, undefined)
    await run.result()
    expect((await env.store.frames(run.runId)).length).toBeLessThanOrEqual(5)
  })
})
