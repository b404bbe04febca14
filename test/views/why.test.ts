import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { type AnyWorkflow, FatalError, signal, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { nearest } from '../../sdk/views/nearest.ts'
import { why } from '../../sdk/views/why.ts'

const approved = signal('approved', z.object({ by: z.string() }))
const HOUR = 3_600_000

describe('why a run stands where it stands', () => {
  it('names the signal, those that came under other names, the last one that did not fit, and how to send it', async () => {
    const w = workflow('w', async (ctx) => ctx.waitFor(approved, { timeout: '2d' }))
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined, { id: 'r' })
    await run.signal('approved', { by: 7 })
    await run.signal('aproved', { by: 'Ada' })
    await env.advance('1h')
    const start = Date.parse('2026-01-01')
    expect(await env.client.why('r')).toEqual({
      reason: "waits for signal 'approved'",
      waits: [
        {
          kind: 'signal',
          id: 'approved',
          on: 'approved',
          what: "signal 'approved'",
          since: start,
          until: start + 48 * HOUR,
          evidence: [
            "one came that did not fit: signal 'approved' does not fit its schema",
            "signal 'aproved' came, which it does not wait for: is one of the two misspelt?",
          ],
        },
      ],
      remedies: [{ what: 'send it what it waits for', command: "overwinter signal r approved --payload '…'" }],
    })
  })

  it('says which attempt failed, of how many, with what, and when the next one is due', async () => {
    const w = workflow('w', async (ctx) =>
      ctx.step('charge', () => Promise.reject(new Error('card declined\nby the bank')), {
        retry: { attempts: 5, initial: '1h', jitter: false },
      }),
    )
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w)
    await env.advance('90m')
    const { reason, waits } = await env.client.why(run.runId)
    expect(reason).toBe("waits for the next attempt of step 'charge'")
    expect(waits).toMatchObject([
      {
        kind: 'retry',
        evidence: ['attempt 2 of 5 failed: Error: card declined'],
        until: Date.parse('2026-01-01T02:00:00Z'),
      },
    ])
  })

  it('says what the child it waits for waits for itself, and whether a worker is there for a task', async () => {
    const child = workflow('child', async (ctx) => ctx.sleep('long', '9d'))
    const parent = workflow('parent', async (ctx) =>
      Promise.all([ctx.run(child, undefined, { id: 'kid' }), ctx.task('llm', 1)]),
    )
    const env = await testEnv({ workflows: [parent, child] })
    const run = await env.start(parent)
    await env.settle()
    const { waits, remedies } = await env.client.why(run.runId)
    expect(waits.map(({ kind, evidence }) => [kind, evidence])).toEqual([
      ['child', ["it is sleeping; it waits for the sleep 'long'"]],
      ['task', ["no worker that takes 'llm' has sent a heartbeat"]],
    ])
    expect(remedies.map(({ command }) => command)).toEqual(['overwinter why kid', 'overwinter workers'])
  })

  it('says by how much it is overdue when no runner claims it', async () => {
    const w = workflow('w', async (ctx) => ctx.sleep('nap', '1h'))
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w)
    const view = await run.get()
    const late = why(view, await run.history(), {}, view.wakeAt! + 10 * 60_000)
    expect(late.waits).toMatchObject([{ kind: 'sleep', overdueMs: 600_000 }])
    expect(late.remedies[0]).toEqual({
      what: 'its time has passed and no runner has claimed it: is a runner alive?',
      command: 'overwinter doctor',
    })
    expect(why(view, await run.history(), {}, view.wakeAt! + 10_000).waits[0]).not.toHaveProperty('overdueMs')
  })

  it('of one that failed or is stuck says with what, and whether it can go on', async () => {
    const fails = workflow('fails', async (ctx) => ctx.step('pay', () => Promise.reject(new FatalError('no money'))))
    const undone = workflow('undone', async (ctx) => {
      ctx.compensate('undo', () => {})
      return ctx.step('pay', () => Promise.reject(new FatalError('no money')))
    })
    const strays = workflow('strays', async () => new Promise(() => {}))
    const env = await testEnv({ workflows: [fails, undone, strays] })
    const reasonOf = async (w: AnyWorkflow) => {
      const run = await env.start(w, undefined, { id: w.name })
      await env.settle()
      return env.client.why(run.runId)
    }
    expect(await reasonOf(fails)).toEqual({
      reason: "failed: StepError: step 'pay' failed after 1 attempt: no money",
      waits: [],
      remedies: [{ what: 'let it go on from what failed', command: 'overwinter retry fails' }],
    })
    const { remedies } = await reasonOf(undone)
    const refusal = await env.client.retry('undone').catch((error: Error) => error.message)
    expect(remedies, 'in the words of retry itself').toEqual([{ what: refusal, command: 'overwinter rerun undone' }])
    expect(refusal).toMatch(/undone/)
    expect(await reasonOf(strays)).toMatchObject({
      reason: expect.stringMatching(/^is stuck: ForeignAwaitError: /),
      remedies: [{ command: 'overwinter retry strays' }],
    })
  })

  it('of one that has ended, starts later or was ended says so', async () => {
    const w = workflow('w', async (ctx) => ctx.sleep('1d'))
    const env = await testEnv({ workflows: [w] })
    const later = await env.start(w, undefined, { delay: '2h', id: 'later' })
    expect(await env.client.why('later')).toMatchObject({
      reason: 'waits for its start',
      waits: [{ until: Date.parse('2026-01-01T02:00:00Z') }],
    })
    await later.cancel('not needed')
    await env.settle()
    expect((await env.client.why('later')).reason).toBe('was cancelled: not needed')
    await expect(env.client.why('nobody')).rejects.toThrow("no run 'nobody'")
  })
})

it('a name that is a few slips away is found, another one is not', () => {
  expect(nearest('approved', ['declined', 'aproved', 'approve'])).toBe('aproved')
  expect(nearest('approved', ['appproved'])).toBe('appproved')
  expect(nearest('approved', ['apporved'])).toBe('apporved')
  expect(nearest('approved', ['Approved'])).toBe('Approved')
  expect(nearest('approved', ['paid', 'refused', ''])).toBeUndefined()
  expect(nearest('ok', ['no'])).toBeUndefined()
})
