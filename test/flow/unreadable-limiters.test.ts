import { describe, expect, it, onTestFinished } from 'vitest'
import { Client } from '../../sdk/client/client.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { type AnyWorkflow, limit, Registry, signal, workflow } from '../../sdk/index.ts'
import type { Document, DocumentStore } from '../../sdk/ports/documents.ts'
import type { RunStatus } from '../../sdk/ports/run.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { settled } from '../rules/limiters/limiter-world.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'

const MINUTE = 60_000

/** Where runs go on by themselves as time passes, and what is logged meanwhile. */
interface Stage {
  client: Client
  documents: DocumentStore
  logged: string[]
  /** Visits that threw. */
  crashes: unknown[]
  pass(minutes: number): Promise<void>
}

async function local(workflows: readonly AnyWorkflow[]): Promise<Stage> {
  const env = await testEnv({ workflows })
  return {
    client: env.client,
    documents: env.documents,
    get logged() {
      return env.logs.map(({ message }) => message)
    },
    get crashes() {
      return env.logs.filter(({ level, message }) => level === 'error' && !message.includes('could not be checked'))
    },
    async pass(minutes) {
      // Minute by minute: a process may look in between.
      for (let i = 0; i < minutes; i++) await env.advance(MINUTE)
    },
  }
}

async function aws(workflows: readonly AnyWorkflow[]): Promise<Stage> {
  const logged: string[] = []
  const config = { log: (_: string, message: string) => void logged.push(message) }
  const { world, clock } = openAwsInMemory({ seed: 'unreadable', config })
  onTestFinished(() => world.close())
  const registry = new Registry([...workflows])
  const crashes: unknown[] = []
  /** When a run is due next, within a sweep. */
  const visit = async (): Promise<number> => {
    // The index says when a run is overdue, which is later than when it is due.
    const soon = await world.store.overdue(clock.now() + 10 * MINUTE, 100)
    for (const { runId } of soon.filter(({ at }) => at <= clock.now())) {
      runOnce(world, registry, runId, { lease: { owner: 'runner', ms: 30_000 } }).catch((error) => crashes.push(error))
      await settled(20)
    }
    return Math.min(clock.now() + 10_000, ...soon.map(({ at }) => at).filter((at) => at > clock.now()))
  }
  return {
    client: new Client(world, registry),
    documents: world.documents,
    logged,
    crashes,
    async pass(minutes) {
      for (let minute = 0; minute < minutes; minute++) {
        const end = clock.now() + MINUTE
        for (let next = await visit(); clock.now() < end; next = await visit()) {
          clock.moveTo(Math.min(next, end))
          await settled(20)
        }
        await world.sweep(100)
      }
      await visit()
    },
  }
}

interface Damage {
  what: string
  collection: string
  key: string
  value: unknown
  /** It is the record of the limit itself, so all of its keys stop. */
  isOfAll?: true
}

const NO_KEY = '\u0001'
const RUNS = 'unreadable:concurrency'
/** The queue of one tenant has one request. */
const FIRST = 'the first'
const DAMAGES: Damage[] = [
  { what: 'a state that is a text', collection: `gates ${RUNS}`, key: 'x', value: '{"used":' },
  { what: 'a state whose window is no list', collection: `gates ${RUNS}`, key: 'x', value: { used: 7 } },
  { what: 'a state that is null', collection: `gates ${RUNS}`, key: 'x', value: null },
  { what: 'a slot that is null', collection: `slots ${RUNS}\u0001x\u00020`, key: '0000', value: null },
  {
    what: 'a slot of a number',
    collection: `slots ${RUNS}\u0001x\u00020`,
    key: '0000',
    value: { holder: 7, since: 0 },
  },
  { what: 'a request that is null', collection: `line ${RUNS}\u0001x`, key: FIRST, value: null },
  { what: 'a request of nobody', collection: `line ${RUNS}\u0001x`, key: FIRST, value: { lane: '', order: 1 } },
  { what: 'a record of a limit with a number', collection: 'limits', key: RUNS, value: { code: 7 }, isOfAll: true },
  { what: 'a record of a limit that is a text', collection: 'limits', key: RUNS, value: 'oops', isOfAll: true },
]

const go = signal('go')
const held = workflow(
  'unreadable',
  { concurrency: { limit: 1, key: ({ tenant }: { tenant: string }) => tenant } },
  async (ctx) => ctx.waitFor(go),
)
const free = workflow('free', async (ctx) => ctx.step('go', () => 'done'))

/** The first holds the slot of its tenant, the second waits for it. */
async function twoOfOneTenant(stage: Stage): Promise<void> {
  for (const id of ['first', 'second']) await stage.client.start(held, { tenant: 'x' }, { id })
  await stage.pass(3)
  expect([await statusOf(stage, 'first'), await statusOf(stage, 'second')]).toEqual(['waiting', 'queued'])
}

async function spoil(
  { documents }: Stage,
  { collection, key, value }: Damage,
): Promise<{ collection: string; document: Document }> {
  const [first] = await documents.list(collection)
  const document = key === FIRST || key === '' ? first! : (await documents.get(collection, key))!
  const { dueAt } = document
  await documents.put(collection, document.key, value as never, dueAt === undefined ? {} : { dueAt })
  return { collection, document }
}

/** As a person does: the value is edited, and nothing else of the item. What the owner has dropped meanwhile stays dropped. */
async function putBack(documents: DocumentStore, collection: string, { key, value }: Document): Promise<void> {
  const { dueAt, unreadable } = (await documents.get(collection, key)) ?? {}
  if (unreadable) await documents.put(collection, key, value, dueAt === undefined ? {} : { dueAt })
}

const statusOf = async ({ client }: Stage, id: string): Promise<RunStatus> => (await client.get(id)).status

describe.each([
  ['the local world', local],
  ['AWS', aws],
])('on %s', (_, open) => {
  it.each(DAMAGES)('$what stops that limiter only, and it goes on once the record is put right', async (damage) => {
    const stage = await open([held, free])
    const { client, pass, documents } = stage
    await twoOfOneTenant(stage)
    const { collection, document } = await spoil(stage, damage)

    await client.start(held, { tenant: 'x' }, { id: 'third' })
    await client.start(held, { tenant: 'y' }, { id: 'other' })
    await client.start(free, undefined, { id: 'free' })
    await client.signal('first', 'go')
    await client.signal('other', 'go')
    await pass(3)
    expect(await statusOf(stage, 'free')).toBe('completed')
    expect(await statusOf(stage, 'first')).toBe('completed')
    expect(await statusOf(stage, 'other')).toBe(damage.isOfAll ? 'queued' : 'completed')
    expect(await statusOf(stage, 'second')).toBe('queued')
    expect(stage.crashes).toEqual([])
    expect(stage.logged.filter((line) => line.includes('could not be checked')).length).toBeGreaterThan(1)

    await putBack(documents, collection, document)
    await pass(3)
    for (const id of ['second', 'third']) {
      if ((await statusOf(stage, id)) !== 'completed') await client.signal(id, 'go')
      await pass(3)
    }
    for (const id of ['second', 'third', 'other']) expect([id, await statusOf(stage, id)]).toEqual([id, 'completed'])
    expect(stage.crashes).toEqual([])
  })

  it.each(DAMAGES)(
    '$what is told by why, by the list of limits and in the run, and a reset drops it',
    async (damage) => {
      const stage = await open([held, free])
      const { client, pass } = stage
      await twoOfOneTenant(stage)
      const { document } = await spoil(stage, damage)
      const told = expect.stringMatching(new RegExp(`${document.key.replace(NO_KEY, '.u0001')}.*(must be|has no)`))
      const { reason, waits, remedies } = await client.why('second')
      expect(reason).toContain('of which something cannot be read')
      expect(waits[0]!.evidence).toEqual([told])
      expect(remedies).toEqual([{ what: expect.any(String), command: `overwinter limits reset ${RUNS}` }])
      expect((await client.get('second')).queue).toMatchObject({ limit: RUNS, paused: false, unreadable: [told] })
      const limits = await client.limits.list()
      expect(limits.map(({ name, paused }) => [name, paused])).toEqual([[RUNS, false]])
      expect([limits[0]!.unreadable, ...limits[0]!.gates.map((gate) => gate.unreadable)].flat()).toContainEqual(told)

      const reset = await client.limits.reset(RUNS)
      expect(reset.inForce).toEqual({ concurrency: 1 })
      expect([reset.unreadable, ...reset.gates.map((gate) => gate.unreadable)].filter(Boolean)).toEqual([])
      await client.signal('first', 'go')
      await client.signal('second', 'go')
      await pass(6)
      for (const id of ['first', 'second']) expect([id, await statusOf(stage, id)]).toEqual([id, 'completed'])
      expect((await client.limits.get(RUNS)).gates[0]).toMatchObject({ inside: 0, waiting: { count: 0 } })
      expect(stage.crashes).toEqual([])
    },
  )

  it.each([
    ['gates', { concurrency: 1 }],
    ['slots', { concurrency: 1 }],
    ['line', { concurrency: 1 }],
    ['limits', { concurrency: 1 }],
    ['gates', { rate: 1, per: '1m' }],
    ['line', { rate: 1, per: '10m' }],
    ['limits', { rate: 1, per: '1m' }],
  ] as const)('a step that comes to a limit of which %s cannot be read waits: %o', async (what, numbers) => {
    const api = limit(`api-${what}-${Object.keys(numbers)[0]}`, numbers)
    let leave = () => {}
    const first = workflow('first', async (ctx) => {
      await ctx.step('hold', () => new Promise<void>((resolve) => void (leave = resolve)), { limit: api })
    })
    const asks = workflow('asks', async (ctx) => ctx.step('go', () => 'done', { limit: api }))
    const stage = await open([first, asks, free])
    const { client, pass, documents } = stage
    await client.start(first, undefined, { id: 'inside' })
    await pass(3)
    await client.start(asks, undefined, { id: 'waits' })
    await pass(3)
    const places = { gates: NO_KEY, slots: '0000', line: FIRST, limits: api.name }
    const collection = {
      gates: `gates ${api.name}`,
      slots: `slots ${api.name}\u00020`,
      line: `line ${api.name}`,
      limits: 'limits',
    }
    const { document } = await spoil(stage, { what, collection: collection[what], key: places[what], value: 7 })
    await client.start(asks, undefined, { id: 'comes' })
    await client.start(free, undefined, { id: 'free' })
    leave()
    await pass(10)
    expect(await statusOf(stage, 'free')).toBe('completed')
    expect(await statusOf(stage, 'inside')).toBe('completed')
    const { status, error } = await client.get('comes')
    expect(['waiting', 'completed'], JSON.stringify(error)).toContain(status)
    expect(await statusOf(stage, 'waits')).not.toMatch(/failed|stuck/)
    expect(stage.crashes).toEqual([])

    await putBack(documents, collection[what], document)
    await pass(30)
    for (const id of ['waits', 'comes']) expect([id, await statusOf(stage, id)]).toEqual([id, 'completed'])
    expect(stage.crashes).toEqual([])
  })

  it('a pause whose record cannot be read holds its own runs, and no others; a resume releases them', async () => {
    const stage = await open([held, free])
    const { client, pass } = stage
    await client.pause({ workflow: 'free' })
    await client.start(free, undefined, { id: 'before' })
    await pass(3)
    await spoil(stage, { what: 'a pause', collection: 'pauses', key: '', value: { code: 7 } })
    await client.start(free, undefined, { id: 'behind' })
    await client.start(held, { tenant: 'x' }, { id: 'other' })
    await pass(3)
    expect(await statusOf(stage, 'other')).toBe('waiting')
    for (const id of ['before', 'behind']) expect([id, await statusOf(stage, id)]).toEqual([id, 'queued'])
    expect(await client.pauses()).toMatchObject([{ scope: { workflow: 'free' }, unreadable: expect.any(String) }])
    const { remedies } = await client.why('before')
    expect(remedies.map(({ command }) => command)).toEqual(['overwinter resume free'])
    await client.resume({ workflow: 'free' })
    await pass(5)
    for (const id of ['before', 'behind']) expect([id, await statusOf(stage, id)]).toEqual([id, 'completed'])
    expect(await client.pauses()).toEqual([])
    expect(stage.crashes).toEqual([])
  })

  it('a limiter goes on whose runs come to one that cannot be read next', async () => {
    const both = workflow(
      'both',
      { concurrency: [{ limit: 1, key: ({ tenant }: { tenant: string }) => tenant }, { limit: 5 }] },
      async (ctx) => ctx.waitFor(go),
    )
    const stage = await open([both])
    const { client, pass } = stage
    for (const id of ['a', 'b', 'c']) await client.start(both, { tenant: 'x' }, { id })
    await pass(3)
    await spoil(stage, { what: '', collection: 'gates both:concurrency:2', key: NO_KEY, value: 7 })
    await client.signal('a', 'go')
    await pass(4)
    // The second has passed the limit of its tenant, and waits at that of all.
    expect((await client.get('b')).queue).toMatchObject({
      limit: 'both:concurrency:2',
      unreadable: [expect.any(String)],
    })
    expect((await client.get('c')).queue).toMatchObject({ limit: 'both:concurrency', key: 'x' })
    expect(stage.logged.filter((line) => line.includes("limit 'both:concurrency' for"))).toEqual([])
    await client.limits.reset('both:concurrency:2')
    for (const id of ['b', 'c']) await client.signal(id, 'go')
    await pass(6)
    for (const id of ['b', 'c']) expect([id, await statusOf(stage, id)]).toEqual([id, 'completed'])
  })

  it('the start of a singleton whose slot cannot be read waits, and takes no slot from a run that has it', async () => {
    const only = workflow(
      'only',
      { singleton: { key: ({ tenant }: { tenant: string }) => tenant, onConflict: 'skip' } },
      async (ctx) => ctx.waitFor(go),
    )
    const stage = await open([only])
    const { client, pass } = stage
    await client.start(only, { tenant: 'x' }, { id: 'first' })
    await pass(3)
    await spoil(stage, { what: '', collection: 'slots only:singleton\u0001x\u00020', key: '0000', value: null })
    await client.start(only, { tenant: 'x' }, { id: 'second' })
    expect((await client.start(only, { tenant: 'x' }, { id: 'third' })).runId).toBe('second')
    await pass(3)
    expect([await statusOf(stage, 'first'), await statusOf(stage, 'second')]).toEqual(['waiting', 'queued'])
    await client.signal('first', 'go')
    await client.limits.reset('only:singleton')
    await client.signal('second', 'go')
    await pass(4)
    for (const id of ['first', 'second']) expect([id, await statusOf(stage, id)]).toEqual([id, 'completed'])
  })
})
