import { describe, expect, it, onTestFinished } from 'vitest'
import { Client } from '../../sdk/client.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { type AnyWorkflow, Registry, signal, workflow } from '../../sdk/index.ts'
import type { Document, DocumentStore, RunStatus } from '../../sdk/ports.ts'
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
  const logged: string[] = []
  return {
    client: env.client,
    documents: env.documents,
    get logged() {
      return env.logs.map(({ message }) => message)
    },
    crashes: logged,
    async pass(minutes) {
      // Minute by minute: somebody may look in between.
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
  const visit = async () => {
    for (const { runId } of await world.store.overdue(clock.now(), 100)) {
      runOnce(world, registry, runId, { lease: { owner: 'runner', ms: 30_000 } }).catch((error) => crashes.push(error))
      await settled(20)
    }
  }
  return {
    client: new Client(world, registry),
    documents: world.documents,
    logged,
    crashes,
    async pass(minutes) {
      await visit()
      for (let i = 0; i < minutes * 6; i++) {
        clock.moveTo(clock.now() + 10_000)
        await settled(20)
        await visit()
        if (i % 6 === 5) await world.sweep(100)
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
  const document = key === FIRST ? first! : (await documents.get(collection, key))!
  const { dueAt } = document
  await documents.put(collection, document.key, value as never, dueAt === undefined ? {} : { dueAt })
  return { collection, document }
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

    const { value, dueAt } = document
    await documents.put(collection, document.key, value, dueAt === undefined ? {} : { dueAt })
    await pass(3)
    for (const id of ['second', 'third']) {
      if ((await statusOf(stage, id)) !== 'completed') await client.signal(id, 'go')
      await pass(3)
    }
    for (const id of ['second', 'third', 'other']) expect([id, await statusOf(stage, id)]).toEqual([id, 'completed'])
    expect(stage.crashes).toEqual([])
  })
})
