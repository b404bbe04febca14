import { describe, expect, test } from 'vitest'
import { request, signal, workflow } from '../../sdk/index.ts'
import { Api } from './fixture.ts'

const anything = signal<unknown>('anything')
const question = request<unknown, unknown>('question')
const tokens = new Map<string, string>()

const echo = workflow('echo', async (_ctx, input: unknown) => input as never)
const hearing = workflow('hearing', async (ctx) => (await ctx.waitFor(anything)) as never)
const answering = workflow('answering', async (ctx) => {
  const { payload, reply } = await ctx.waitFor(question)
  reply(payload)
})
const calling = workflow('calling', async (ctx) => {
  const { token, promise } = ctx.callback<unknown>('answer')
  await ctx.step('hand-out', async () => void tokens.set(ctx.info.runId, token))
  return (await promise) as never
})

/** A sender of such a thing knows nothing of our codec: it is the sender's, and stays so. */
describe.each([
  [{ '~coded': 'x' }, { '~plain': { '~coded': 'x' } }],
  [{ a: [{ '~coded': 'x' }] }, { a: [{ '~plain': { '~coded': 'x' } }] }],
  [{ '~date': 'nonsense' }, { '~plain': { '~date': 'nonsense' } }],
])('%j from outside is data', (sent, kept) => {
  test('as an input', async () => {
    await using api = await Api.open({}, [echo] as never)
    const { status, body } = await api.post('/workflows/echo/runs?wait=20s', { input: sent })
    expect([status, body.status, body.input, body.output]).toEqual([201, 'completed', kept, kept])
  })

  test('as the payload of a signal', async () => {
    await using api = await Api.open({}, [hearing] as never)
    const { runId } = await api.local.start(hearing)
    expect((await api.post(`/runs/${runId}/signals/anything`, sent)).status).toBe(202)
    expect((await api.get(`/runs/${runId}?wait=20s`)).body.output).toEqual(kept)
  })

  test('as the payload of a request, and in its reply', async () => {
    await using api = await Api.open({}, [answering] as never)
    const { runId } = await api.local.start(answering)
    expect(await api.post(`/runs/${runId}/requests/question`, sent)).toMatchObject({
      status: 200,
      body: { result: kept },
    })
  })

  test('as the result of a callback', async () => {
    await using api = await Api.open({}, [calling] as never)
    const { runId } = await api.local.start(calling)
    await api.reaches(runId, 'waiting')
    expect((await api.post(`/callbacks/${tokens.get(runId)}`, { result: sent })).status).toBe(202)
    expect((await api.get(`/runs/${runId}?wait=20s`)).body.output).toEqual(kept)
  })
})

describe('the stacks of errors that are values stay inside unless they are asked for', () => {
  const failure = () => {
    const error = Object.assign(new Error('no'), { inner: new Error('field'), cause: new Error('cause') })
    return {
      list: [new AggregateError([error, new Error('one of them')], 'both')],
      own: { '~error': { stack: 'of my own' } },
    }
  }
  const failing = workflow('failing', async (ctx) => {
    await ctx.step('look', failure)
    ctx.progress(failure())
    const { reply } = await ctx.waitFor(question)
    reply(failure())
    return failure()
  })

  test.each([false, true])('exposeStacks: %s', async (exposeStacks) => {
    await using api = await Api.open({ exposeStacks }, [failing] as never)
    const { runId } = await api.local.start(failing)
    await api.reaches(runId, 'waiting')
    const during = await api.get(`/runs/${runId}`)
    const asked = await api.post(`/runs/${runId}/requests/question`)
    const after = await api.get(`/runs/${runId}?wait=20s`)
    const history = await api.get(`/runs/${runId}/history`)
    expect(asked.body.result).toMatchObject({
      list: [
        {
          '~error': {
            message: 'both',
            errors: [
              { message: 'no', cause: { message: 'cause' }, fields: { inner: { '~error': { message: 'field' } } } },
              {},
            ],
          },
        },
      ],
      own: { '~plain': { '~error': { stack: 'of my own' } } },
    })
    for (const { body } of [during, asked, after, history]) {
      const text = JSON.stringify(body)
      expect(text).toContain('one of them')
      expect(text.includes('values.test.ts')).toBe(exposeStacks)
    }
  })
})
