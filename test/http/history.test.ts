import { expect, test } from 'vitest'
import { OverwinterClient } from '../../sdk/http-client/index.ts'
import { signal, workflow } from '../../sdk/index.ts'
import { Api } from './fixture.ts'

const CANARY = 'canary-4711'

const talkative = workflow('talkative', async (ctx, input: { secret: string }) => {
  await ctx.step('look', () => ({ found: input.secret }))
  ctx.progress({ at: input.secret })
  const said = await ctx.waitFor(signal<{ word: string }>('go'), { timeout: '1d' })
  await ctx
    .step(
      'fail',
      () => {
        throw Object.assign(new Error('no luck'), { code: 'E_LUCK' })
      },
      { retry: { attempts: 1 } },
    )
    .catch(() => {})
  return String(said?.word)
})

async function talked(api: Api): Promise<void> {
  await api.local.start(talkative, { secret: CANARY }, { id: 'r' })
  await api.local.signal('r', 'go', { word: CANARY })
  await api.local.result('r')
}

test('a history without payloads says everything else, and which were left out', async () => {
  await using api = await Api.open({ exposeStacks: true }, [talkative])
  await talked(api)
  const { body } = await api.get('/runs/r/history?payloads=omit')
  expect(JSON.stringify(body)).not.toContain(CANARY)
  expect(JSON.stringify(body)).not.toContain('history.test.ts')
  const omitted = (type: string) => body.events.find((event: { type: string }) => event.type === type)
  expect(omitted('run.started')).toMatchObject({ n: '0.0', omitted: ['input'] })
  expect(omitted('step.completed')).toMatchObject({ id: 'look', omitted: ['result'] })
  expect(omitted('wait.completed')).toMatchObject({ omitted: ['payload'] })
  expect(omitted('step.failed').error).toMatchObject({ name: 'Error', message: 'no luck', code: 'E_LUCK' })
  expect(omitted('step.failed').omitted).toBeUndefined()
  expect(body.generation).toBe(0)
})

test('so does a run', async () => {
  await using api = await Api.open({}, [talkative])
  await talked(api)
  const { body } = await api.get('/runs/r?payloads=omit')
  expect(JSON.stringify(body)).not.toContain(CANARY)
  expect(body).toMatchObject({ runId: 'r', status: 'completed', omitted: ['input', 'output', 'progress'] })
  for (const path of ['/runs/r', '/runs/r/history']) expect((await api.get(`${path}?payloads=some`)).status).toBe(400)
})

test('one event is read by its place, with its payloads', async () => {
  await using api = await Api.open({}, [talkative])
  await talked(api)
  const { body } = await api.get('/runs/r/history')
  for (const event of body.events) expect((await api.get(`/runs/r/events/${event.n}`)).body).toEqual(event)
  for (const n of ['99.0', '1.99', 'x', '-1', '1.-1']) {
    const { status, body } = await api.get(`/runs/r/events/${n}`)
    expect([status, body.type]).toEqual([404, 'urn:overwinter:problem:unknown-event'])
  }
  expect((await api.get('/runs/nobody/events/1.0')).body.type).toBe('urn:overwinter:problem:unknown-run')
  const client = new OverwinterClient({
    url: 'http://here',
    fetch: (input, init) => Promise.resolve(api.app.request(input as string, init)),
  })
  expect(await client.event('r', '99.0')).toBeUndefined()
  expect(await client.event('r', '0.0')).toEqual((await client.history('r'))[0])
})

test('a caller that asks for what came behind the last event follows a run without missing or repeating any', async () => {
  await using api = await Api.open({}, [talkative])
  await api.local.start(talkative, { secret: 'x' }, { id: 'r' })
  const seen: { n: string }[] = []
  const look = async () => {
    const after = seen.at(-1)?.n
    seen.push(...(await api.get(`/runs/r/history${after === undefined ? '' : `?after=${after}`}`)).body.events)
  }
  await look()
  await api.local.signal('r', 'go', { word: 'w' })
  await look()
  await api.local.result('r')
  await look()
  await look()
  expect(seen).toEqual((await api.get('/runs/r/history')).body.events)
  for (const event of seen) {
    const { events } = (await api.get(`/runs/r/history?after=${event.n}`)).body
    expect(events).toEqual(seen.slice(seen.indexOf(event) + 1))
  }
  for (const after of ['x', '1', '-1.0']) expect((await api.get(`/runs/r/history?after=${after}`)).status).toBe(400)
})
