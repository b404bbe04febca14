import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { signal, workflow } from '../../sdk/index.ts'
import { Api } from './fixture.ts'

const trip = workflow('trip', { input: z.object({ city: z.string() }) }, async (ctx, { city }) => {
  const seat = await ctx.step('book a seat', () => `12A to ${city}`) // line of the step
  await ctx.waitFor(signal('go'), { timeout: '1d' }) // line of the wait
  return seat
})

const lineOf = (mark: string) =>
  readFileSync(import.meta.filename, 'utf8')
    .split('\n')
    .findIndex((line) => line.endsWith(`// line of the ${mark}`)) + 1

test('a page that listens is told which runs have changed, until it stops', async () => {
  await using api = await Api.open()
  const stop = new AbortController()
  const response = await api.app.request('/changes', { signal: stop.signal })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const until = async (what: string) => {
    while (!text.includes(what)) text += (await reader.read()).value
  }
  await until(': listening')
  await api.local.start('sleeper', undefined, { id: 'told' })
  await until('event: runs\ndata: {"runs":["told"')
  await reader.cancel()
})

test('the code of today is taken through a history, to where it stood at an event', async () => {
  await using api = await Api.open({}, [trip])
  await api.local.start(trip, { city: 'Oslo' }, { id: 't' })
  await api.reaches('t', 'waiting')
  const { events } = (await api.get('/runs/t/history')).body as { events: { type: string; n: string }[] }
  const placeOf = (type: string) => events.find((event) => event.type === type)!.n
  const before = (await api.get(`/runs/t/replay?upTo=${placeOf('run.started')}`)).body
  expect(before).toMatchObject({
    events: 1,
    open: [{ id: 'book a seat', kind: 'step', at: expect.stringContaining(`local-routes.test.ts:${lineOf('step')}:`) }],
  })
  const last = (await api.get('/runs/t/replay')).body
  expect(last.open).toMatchObject([{ id: 'go', kind: 'wait' }])
  expect(last.source).toMatchObject({ file: import.meta.filename, line: lineOf('wait') })
  expect(last.source.lines.find(({ n }: { n: number }) => n === lineOf('wait')).text).toContain('ctx.waitFor')
  await api.local.signal('t', 'go')
  await api.local.result('t')
  const { ended, open } = (await api.get('/runs/t/replay')).body
  expect([ended, open]).toEqual([{ output: '12A to Oslo' }, []])
  expect((await api.local.history('t')).filter(({ type }) => type === 'step.completed')).toHaveLength(1)
})

test('where the code of today no longer fits, it says so; and what cannot be looked at is refused', async () => {
  await using api = await Api.open({}, [trip])
  await api.local.start(trip, { city: 'Oslo' }, { id: 't' })
  await api.reaches('t', 'waiting')
  await using changed = new Api(
    Object.assign(Object.create(api.local), {
      definitions: { exact: () => workflow('trip', async (ctx) => ctx.sleep('nap', '1h')) },
    }),
    {},
  )
  expect((await changed.get('/runs/t/replay')).body.changed).toContain('book a seat')
  expect((await api.get('/runs/t/replay?upTo=99.0')).status).toBe(400)
  expect((await api.get('/runs/nobody/replay')).status).toBe(404)
})

test('Prometheus is told how many runs there are', async () => {
  await using api = await Api.open()
  await api.local.start('sleeper', undefined, { id: 's' })
  await api.reaches('s', 'sleeping')
  const text = await (await api.app.request('/metrics')).text()
  expect(text).toMatch(
    /^# HELP overwinter_runs .+\n# TYPE overwinter_runs gauge\noverwinter_runs\{status="sleeping"\} 1$/m,
  )
  expect(text).toMatch(/^overwinter_overdue_runs 0$/m)
  expect(text).toMatch(/^overwinter_workers 0\n/m)
})
