import { describe, expect, it, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { freePort } from '../outside/free-port.ts'
import { PLACES } from './beginner.ts'

const REST_OF_MISMATCH =
  "To go on, a run's code is run again from its start and must ask for the same as before. The run is stuck, and nothing is lost. " +
  'If the code was changed, put back the old order for runs under way (give the changed code a new version, or guard it with ctx.patched). ' +
  'If it was not, it asks for something else each time: take the time from ctx.now() instead of Date.now, chance from ctx.random() or ctx.uuid() ' +
  'instead of Math.random, and read everything else that may differ in a ctx.step. Then deploy and retry the run'
const WHY_FOREIGN =
  'Only what goes through ctx is recorded, and only that can be repeated when the run goes on later or elsewhere. So the run is stuck, and nothing is lost.'

/** As Date.now() and Math.random() are: never the same twice. */
function neverTheSame(): () => number {
  let n = 0
  return () => ++n
}

describe.each(PLACES)('%s', (_place, attempt) => {
  it('no await: the run ends without the step, and says so', async () => {
    const seen = await attempt(async (ctx) => {
      void ctx.step('send-mail', () => 'sent')
      return 'done'
    })
    expect(seen).toEqual({
      status: 'completed',
      message: undefined,
      warnings: [
        "workflow 'order' ended without waiting for step 'send-mail'. Steps that had begun were aborted, the others will never run, and no result is kept. " +
          'If that was not meant, an await is missing: await ctx.step(…)',
      ],
    })
  })

  it('no await, and the promise is used as if it were the result', async () => {
    const { status, message } = await attempt(async (ctx) => ({ price: ctx.step('price', () => 5) }))
    expect({ status, message }).toEqual({
      status: 'failed',
      message:
        "the output of workflow 'order' cannot be stored, and a run can only go on later with what is stored\n  $.price: a Promise cannot be stored; await it",
    })
  })

  it.each([
    ['the clock', 'at'],
    ['chance', 'number'],
  ])('%s asked outside of ctx', async (_what, prefix) => {
    const other = neverTheSame()
    const seen = await attempt(async (ctx) => {
      await ctx.step(`${prefix} ${other()}`, () => 1)
      await ctx.sleep('night', '8h')
    })
    expect(seen).toEqual({
      status: 'stuck',
      message:
        "the code of workflow 'order' (version 1) does not fit the history of run 'r': " +
        `after its start, its history goes on with step '${prefix} 1', but the code waits for step '${prefix} 2'. ${REST_OF_MISMATCH}`,
      warnings: [],
    })
  })

  it.each([
    ['fetch', async () => fetch(`http://127.0.0.1:${await freePort()}/`).catch(() => {})],
    ['a timer', () => new Promise((resolve) => setTimeout(resolve, 1))],
  ])('%s between two steps', async (_what, foreign) => {
    const seen = await attempt(async (ctx) => {
      await ctx.step('first', () => 1)
      await foreign()
      await ctx.step('second', () => 2)
    })
    expect(seen).toEqual({
      status: 'stuck',
      message:
        "workflow 'order' awaits something that is not a ctx operation (a fetch, a timer, a promise that is never settled), after step 'first'. " +
        `${WHY_FOREIGN} Move it into a ctx.step, or wait with ctx.sleep or ctx.waitFor, deploy, and retry the run`,
      warnings: [],
    })
  })

  it('a timer beside a step, after which ctx is called', async () => {
    const seen = await attempt(async (ctx) => {
      const timer = new Promise((resolve) => setImmediate(resolve))
      void ctx.step('slow', ({ signal }) => new Promise((_, no) => signal.addEventListener('abort', no)))
      await timer
      await ctx.step('next', () => 2)
    })
    expect(seen).toEqual({
      status: 'stuck',
      message:
        "workflow 'order' called ctx operation 'next' after it had awaited something that is not a ctx operation (a fetch, a timer, a file), somewhere after its start. " +
        `${WHY_FOREIGN} Move it into a ctx.step, deploy, and retry the run`,
      warnings: [],
    })
  })

  it('ctx inside a step', async () => {
    const { message } = await attempt((ctx) => ctx.step('outer', () => ctx.sleep('inner', '1h')))
    expect(message).toBe(
      "step 'outer' failed after 1 attempt: ctx operation 'inner' was called inside the body of step 'outer'. " +
        'Of a step only the result is recorded, so ctx cannot work inside one: call it in the workflow function, before or after the step',
    )
  })

  it.each([
    ['a text for a signal', 'waitFor', "ctx.waitFor takes a signal, as in ctx.waitFor(signal('paid')), got 'paid'"],
    ['a name for a child workflow', 'run', "ctx.run takes a workflow, the one that workflow(…) has made, got 'paid'"],
    [
      'a step without its function',
      'step',
      "step 'paid': the second argument must be the function to run, as in ctx.step('paid', () => …)",
    ],
  ] as const)('%s', async (_what, method, message) => {
    expect(
      await attempt(async (ctx) =>
        (ctx as unknown as Record<string, (given: string) => Promise<unknown>>)[method]!('paid'),
      ),
    ).toEqual({
      status: 'failed',
      message,
      warnings: [],
    })
  })
})

test('the same name twice is no mistake for steps: they are numbered in their order', async () => {
  const w = workflow('w', async (ctx) => Promise.all([1, 2, 3].map((n) => ctx.step('greet', () => n))))
  const env = await testEnv({ workflows: [w] })
  const run = await env.start(w, undefined)
  expect(await run.result()).toEqual([1, 2, 3])
  expect((await run.history()).flatMap((event) => (event.type === 'step.completed' ? [event.id] : []))).toEqual([
    'greet',
    'greet:1',
    'greet:2',
  ])
})

test('the same name twice for workflows', async () => {
  const named = (name: string) => workflow(name, async () => 1)
  await expect(testEnv({ workflows: [named('order'), named('order')] })).rejects.toMatchObject({
    message:
      "two workflows are named 'order' with version 1; give one of them another name, or another version if it is the same workflow with changed code",
  })
})
