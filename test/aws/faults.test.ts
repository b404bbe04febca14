import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { awsClients } from './clients.ts'
import { type Depth, type Fault, Faults, serverError, throttled, timedOut, type When } from './faults.ts'
import { journals, takeToItsEnd } from './reference-run.ts'
import { makeResources } from './resources.ts'

describe('a run whose calls to AWS fail or are made twice', () => {
  let resources: Awaited<ReturnType<typeof makeResources>>
  let clean: Awaited<ReturnType<typeof run>>
  let serial = 0

  beforeAll(async () => {
    resources = await makeResources()
    // The first run of a table makes the list of workflows, and so more calls than any other.
    await run()
    clean = await run()
  })
  afterAll(() => resources.remove())

  async function run(fault?: Fault, copies = 1) {
    const runId = `fault-${++serial}`
    const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
    const faults = new Faults()
    const clients = awsClients()
    faults.install(clients)
    faults.fault = fault
    // No looking on the side: polls would move the count of calls from one time to the next.
    const thresholds = { pollMs: { first: 600_000, most: 600_000 } }
    const world = new AwsWorld({ ...resources, clients, clock, thresholds, log: () => {} })
    const observer = new AwsWorld({ ...resources, clock, thresholds })
    try {
      const { deaths, rescues } = await takeToItsEnd(world, observer, clock, runId, copies)
      return { ...(await journals(observer, runId)), deaths, rescues, calls: faults.calls, hit: faults.hit }
    } finally {
      world.close()
      observer.close()
    }
  }

  it('ends well when none does', () => {
    expect(clean.output).toEqual({ last: 420, by: 'ann' })
    expect(clean.deaths).toEqual([])
    expect(clean.rescues).toBe(0)
  })

  it('is the same when every wake-up arrives three times at once, and no wake-up is lost in the crowd (I6)', async () => {
    for (let i = 0; i < 20; i++) {
      const { output, parent, child, deaths, rescues } = await run(undefined, 3)
      expect({ output, parent, child, deaths, rescues }).toEqual({
        output: clean.output,
        parent: clean.parent,
        child: clean.child,
        deaths: [],
        rescues: 0,
      })
    }
  })

  const cases: { depth: Depth; when: When; error: (call: number) => () => Error; what: string }[] = [
    {
      depth: 'retried',
      when: 'before',
      error: (call) => (call % 2 === 0 ? throttled : serverError),
      what: 'a throttled or refused attempt',
    },
    {
      depth: 'retried',
      when: 'after',
      error: () => timedOut,
      what: 'an attempt that is carried out and whose answer gets lost',
    },
    { depth: 'thrown', when: 'before', error: () => serverError, what: 'the death of the process before a call' },
    { depth: 'thrown', when: 'after', error: () => timedOut, what: 'the death of the process after a call' },
  ]
  for (const { depth, when, error, what } of cases) {
    it(`loses and doubles nothing by ${what}, whichever call it is`, async () => {
      for (let call = 1; call <= clean.calls; call++) {
        const spoilt = await run({ call, when, depth, error: error(call) })
        expect(spoilt.hit, `call ${call} was spoilt`).toBeDefined()
        expect(spoilt.deaths.length, spoilt.hit).toBe(depth === 'thrown' ? 1 : 0)
        expect({ output: spoilt.output, parent: spoilt.parent, child: spoilt.child }, spoilt.hit).toEqual({
          output: clean.output,
          parent: clean.parent,
          child: clean.child,
        })
      }
    })
  }
})
