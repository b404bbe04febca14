import { describe, expect, it, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { Api } from '../http/fixture.ts'
import { PLACES } from './beginner.ts'

class Order {
  id = 7
}
const circle: { self?: unknown } = {}
circle.self = circle

describe.each(PLACES)('%s', (_place, attempt) => {
  it.each([
    [
      'a function',
      { retry: () => 1 },
      '$.retry: a function cannot be stored; give the data that it works with instead',
    ],
    [
      'a class',
      [new Order()],
      '$[0]: an instance of Order would lose its class; give a plain object, and make the instance of it where it is used',
    ],
    ['a circle', circle, '$.self: it refers back to what it is in, and would have no end; give an id instead'],
    ['a symbol', Symbol('x'), '$: a symbol cannot be stored; give a string instead'],
    ['a promise within', { price: Promise.resolve(5) }, '$.price: a Promise cannot be stored; await it'],
    [
      'bytes of another kind',
      new Float32Array(1),
      '$: a Float32Array cannot be stored; store a Uint8Array of its bytes',
    ],
  ])('an odd value, %s, as the result of a step', async (_what, value, problem) => {
    const { status, message } = await attempt((ctx) =>
      ctx.step('load', () => value as unknown, { retry: { attempts: 1 } }),
    )
    expect({ status, message }).toEqual({
      status: 'failed',
      message: `step 'load' failed after 1 attempt: the result of step 'load' cannot be stored, and a run can only go on later with what is stored\n  ${problem}`,
    })
  })

  it.each([
    ['an object', { code: 5 }, '{"code":5}'],
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
  ])('an odd throw: %s', async (_what, thrown, shown) => {
    const said = `a value that is not an Error was thrown: ${shown}. Throw an Error, which knows the line it comes from: throw new Error('…')`
    const inStep = await attempt((ctx) => ctx.step('pay', () => Promise.reject(thrown), { retry: { attempts: 1 } }))
    expect(inStep).toEqual({ status: 'failed', message: `step 'pay' failed after 1 attempt: ${said}`, warnings: [] })
    const inWorkflow = await attempt(() => Promise.reject(thrown))
    expect(inWorkflow).toEqual({ status: 'failed', message: said, warnings: [] })
  })

  it('an odd throw: a text is taken as the message', async () => {
    const seen = await attempt((ctx) => ctx.step('pay', () => Promise.reject('no money'), { retry: { attempts: 1 } }))
    expect(seen).toEqual({ status: 'failed', message: "step 'pay' failed after 1 attempt: no money", warnings: [] })
  })

  it.each([
    ['5 minuts', "'5 minuts' is not a duration; write '30s', '15m', '24h', '7d', milliseconds, or { hours: 24 }"],
    [{ minuts: 5 }, `{"minuts":5} is not a duration; write '30s', '15m', '24h', '7d', milliseconds, or { hours: 24 }`],
    [
      -5,
      'a duration must not be negative, got -5; for a time that may have passed, use ctx.sleepUntil or Math.max(0, …)',
    ],
    [Number.NaN, 'NaN is not a duration; see what it was worked out from'],
    ['400d', "a duration may be at most 365 days, got '400d'; for more, wait several times"],
  ])('a wrong duration: %j', async (duration, said) => {
    const seen = await attempt((ctx) => ctx.sleep('nap', duration as never))
    expect(seen).toEqual({ status: 'failed', message: `the sleep 'nap': ${said}`, warnings: [] })
  })

  it('a point in time that is none', async () => {
    const seen = await attempt((ctx) => ctx.sleepUntil('nap', 'tomorrow'))
    expect(seen).toEqual({
      status: 'failed',
      message:
        "the sleep 'nap': 'tomorrow' is not a point in time; give a Date, milliseconds since 1970, or a text such as '2027-01-31T09:00:00Z'",
      warnings: [],
    })
  })

  it('a huge payload for a worker', async () => {
    const { status, message } = await attempt((ctx) => ctx.task('resize', 'x'.repeat(2_000_000)))
    expect({ status, message }).toEqual({
      status: 'failed',
      message:
        "step 'resize' could not begin: the input of task 'resize' has 2000002 bytes, and a task takes 1048576; store it elsewhere and give a link to it",
    })
  })
})

test('an odd value as input is refused before anything is written', async () => {
  const order = workflow('order', async () => 1)
  const env = await testEnv({ workflows: [order] })
  await expect(env.start(order, { when: () => 1 } as never)).rejects.toMatchObject({
    message:
      "the input of workflow 'order' cannot be stored, and a run can only go on later with what is stored\n" +
      '  $.when: a function cannot be stored; give the data that it works with instead',
  })
  expect((await env.client.list()).runs).toEqual([])
})

test('a huge payload over HTTP', async () => {
  await using api = await Api.open()
  const { status, body } = await api.post(
    '/workflows/order/runs',
    { input: 'x'.repeat(6_000_000) },
    { 'content-length': '6000012' },
  )
  expect({ status, body }).toEqual({
    status: 413,
    body: {
      type: expect.stringMatching(/too-large$/),
      title: 'The body is too large',
      status: 413,
      detail:
        'a body may have at most 5242880 bytes; nothing was written. Store what is larger elsewhere and send a link to it',
    },
  })
})
