import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { beforeEach, expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import { bearer } from '../../functions/http/bearer.ts'
import type { LocalServer, ServeLocalOptions } from '../../functions/local/serve.ts'
import {
  ConflictError,
  HttpError,
  InvalidInputError,
  OverwinterClient,
  RunFailedError,
  RunNotFoundError,
  UnknownWorkflowError,
} from '../../sdk/http-client/index.ts'
import { request, StepError, signal, TimeoutError, workflow } from '../../sdk/index.ts'
import { serveLocal } from './by-the-document.ts'
import { approval, approved, asker, flaky, oddName, order, ran, sleeper, tokens } from './fixture.ts'

const WORKFLOWS = [order, approval, sleeper, flaky, asker, oddName]

async function open(
  options: Partial<ServeLocalOptions> = {},
): Promise<{ server: LocalServer; client: OverwinterClient } & AsyncDisposable> {
  const server = await serveLocal({ path: ':memory:', workflows: WORKFLOWS, log: () => {}, port: 0, ...options })
  const client = new OverwinterClient({ url: `${server.url}/` })
  return { server, client, [Symbol.asyncDispose]: () => server.close(10) }
}

beforeEach(() => {
  ran.isBroken = true
})

test('it starts a run, waits for its result and shows it as the in-process client does', async () => {
  await using api = await open()
  const { runId, created } = await api.client.start(order, { id: 'o', cents: 1 }, { id: 'r1', tags: ['vip'] })
  expect([runId, created]).toEqual(['r1', true])
  expect(await api.client.result(runId)).toBe(2)
  const { retentionMs: _, ...known } = await api.server.local.get(runId)
  expect(await api.client.get(runId)).toEqual(known)
  expect(await api.client.history(runId)).toEqual(JSON.parse(JSON.stringify(await api.server.local.history(runId))))
  expect((await api.client.start(order, { id: 'o', cents: 1 }, { id: 'r1' })).created).toBe(false)
})

test('an open run and its history look the same, times included', async () => {
  await using api = await open()
  const { runId } = await api.client.start(sleeper, undefined)
  while ((await api.client.get(runId)).status !== 'sleeping');
  const { retentionMs: _, ...known } = await api.server.local.get(runId)
  expect(await api.client.get(runId)).toEqual(known)
  expect(await api.client.history(runId)).toEqual(JSON.parse(JSON.stringify(await api.server.local.history(runId))))
})

test('inputs are typed by the workflow', async () => {
  const client = new OverwinterClient({ url: 'http://x' })
  expectTypeOf(client.start<{ id: string; cents: number }, number>)
    .parameter(1)
    .toEqualTypeOf<{ id: string; cents: number }>()
  // @ts-expect-error: cents is missing
  const _wrong = () => client.start(order, { id: 'o' })
})

test('it lists page by page', async () => {
  await using api = await open()
  for (let i = 0; i < 3; i++) await api.client.start(sleeper, undefined, { id: `r${i}` })
  const first = await api.client.list({ workflow: 'sleeper', from: new Date(0), to: Date.now() + 60_000, limit: 2 })
  const second = await api.client.list({ workflow: 'sleeper', limit: 2, cursor: first.cursor })
  expect([...first.runs, ...second.runs].map((run) => run.runId)).toEqual(['r2', 'r1', 'r0'])
  expect(second.cursor).toBeUndefined()
})

test('it signals, and checks the payload against the schema of the signal', async () => {
  await using api = await open()
  const { runId } = await api.client.start(approval, undefined)
  await expect(api.client.signal(runId, approved, {} as { by: string })).rejects.toThrow(InvalidInputError)
  expect(await api.client.signal(runId, approved, { by: 'ann' }, { idempotencyKey: 'k' })).toEqual({ accepted: true })
  expect(await api.client.result(runId)).toBe('by ann')
  expect(await api.client.signal(runId, approved, { by: 'ann' }, { idempotencyKey: 'k' })).toEqual({ accepted: false })
})

test('a signal that the workflow does not declare is a 404 with the known names, and the error of the in-process client', async () => {
  const picky = workflow('picky', { signals: [approved] }, (ctx) => ctx.waitFor(approved))
  await using api = await open({ workflows: [picky] })
  const run = await api.client.start(picky)
  const answer = await fetch(`${api.server.url}/runs/${run.runId}/signals/aproved`, { method: 'POST' })
  expect(answer.status).toBe(404)
  expect(await answer.json()).toMatchObject({ type: expect.stringMatching(/unknown-signal$/), known: ['approved'] })
  await expect(run.signal('aproved')).rejects.toMatchObject({ name: 'UnknownSignalError', known: ['approved'] })
  const misfit = await fetch(`${api.server.url}/runs/${run.runId}/signals/approved`, {
    method: 'POST',
    body: '{"by":7}',
    headers: { 'content-type': 'application/json' },
  })
  expect([misfit.status, await misfit.json()]).toMatchObject([
    422,
    { type: expect.stringMatching(/misfit$/), problems: [{ path: '$.by' }] },
  ])
  await run.signal(approved, { by: 'ann' })
  expect(await run.result()).toEqual({ by: 'ann' })
  expect((await run.history()).some(({ type }) => type === 'signal.rejected')).toBe(false)
  await expect(api.client.result(order, run.runId)).rejects.toThrow("is of workflow 'picky', not of 'order'")
})

test('it asks and gets the reply, the reason of a refusal, or the word that it takes too long; a repeat under one key counts once', async () => {
  const price = request('price', { payload: z.object({ item: z.string() }), reply: z.object({ at: z.date() }) })
  let asked = 0
  const shop = workflow('shop', { signals: [price, approved] }, async (ctx) => {
    await ctx.waitFor(approved)
    for (;;) {
      const { payload, reply, refuse } = await ctx.waitFor(price)
      asked++
      if (payload.item === 'fish') refuse(Object.assign(new Error('sold out'), { code: 'E_FISH' }))
      else reply({ at: new Date(5) })
    }
  })
  await using api = await open({ workflows: [shop] })
  const run = await api.client.start(shop)
  const late = run.ask(price, { item: 'bread' }, { timeout: '50ms', idempotencyKey: 'k' })
  await expect(late).rejects.toThrow(/^run '.*' has not replied to request 'price' in time, and may still do so/)
  const post = (key: string) =>
    fetch(`${api.server.url}/runs/${run.runId}/requests/price?wait=1ms`, {
      method: 'POST',
      body: '{"item":"bread"}',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
    })
  const kept = await post('k')
  expect([kept.status, await kept.json()]).toEqual([202, { accepted: true, idempotencyKey: 'k' }])
  await run.signal(approved, { by: 'ann' })
  expect(await run.ask(price, { item: 'bread' }, { idempotencyKey: 'k' })).toEqual({ at: new Date(5) })
  const again = await post('k')
  expect([again.status, await again.json()]).toEqual([200, { result: { at: { '~date': '1970-01-01T00:00:00.005Z' } } }])
  expect(asked).toBe(1)
  const refused = {
    name: 'RequestRefusedError',
    message: `run '${run.runId}' refused request 'price': sold out`,
    cause: { message: 'sold out', code: 'E_FISH' },
  }
  await expect(run.ask(price, { item: 'fish' })).rejects.toMatchObject(refused)
  await expect(run.ask(price, {} as never)).rejects.toThrow(InvalidInputError)
  await expect(run.ask('cost')).rejects.toMatchObject({ name: 'UnknownSignalError', known: ['price'] })
  await run.cancel()
  await expect(run.ask(price, { item: 'bread' })).rejects.toMatchObject({ name: 'ConflictError' })
})

test('it says why a run waits, as the in-process client does', async () => {
  await using api = await open()
  const run = await api.client.start(approval, undefined, { id: 'a' })
  while ((await api.client.get('a')).status !== 'waiting') await new Promise((resolve) => setImmediate(resolve))
  await run.signal('aproved')
  expect(await api.client.why('a')).toEqual({
    reason: "waits for signal 'approved'",
    waits: [
      {
        kind: 'signal',
        id: 'approved',
        on: 'approved',
        what: "signal 'approved'",
        since: expect.any(Number),
        evidence: ["signal 'aproved' came, which it does not wait for: is one of the two misspelt?"],
      },
    ],
    remedies: [{ what: 'send it what it waits for', command: "overwinter signal a approved --payload '…'" }],
  })
  await expect(api.client.why('nobody')).rejects.toThrow(RunNotFoundError)
})

test('it cancels, terminates, wakes, retries and reruns', async () => {
  await using api = await open()
  const { client } = api
  const { runId: first } = await client.start(sleeper, undefined)
  await client.cancel(first, 'no more')
  await expect(client.result(first)).rejects.toThrow('no more')
  const { runId: second } = await client.start(sleeper, undefined)
  await client.terminate(second)
  expect((await client.get(second)).status).toBe('terminated')
  const { runId: third } = await client.start(sleeper, undefined)
  for (const sleep of ['first', 'second']) {
    while ((await client.get(third)).waitingFor?.[0]?.id !== sleep);
    await client.wake(third)
  }
  expect(await client.result(third)).toBe('awake')
  const { runId: fourth } = await client.start(flaky, undefined)
  await expect(client.result(fourth)).rejects.toThrow(RunFailedError)
  ran.isBroken = false
  const { runId: fifth, created } = await client.rerun(fourth, { from: 'work' })
  expect(created).toBe(true)
  await client.retry(fourth)
  expect(await client.result(fourth)).toBe(await client.result(fifth))
})

test('it settles callbacks', async () => {
  await using api = await open()
  const ask = async () => {
    const { runId } = await api.client.start(asker, undefined)
    while ((await api.client.get(runId)).status !== 'waiting');
    return { runId, token: tokens.get(runId)! }
  }
  const good = await ask()
  await api.client.completeCallback(good.token, 'yes')
  expect(await api.client.result(good.runId)).toBe('yes')
  const bad = await ask()
  await api.client.failCallback(bad.token, Object.assign(new Error('no'), { code: 'E7' }))
  const failure = await api.client.result(bad.runId).catch((error: unknown) => error as Error)
  expect((failure as Error).cause).toMatchObject({ message: 'no', code: 'E7' })
})

test('refusals come back as the errors that the in-process client throws', async () => {
  await using api = await open()
  const { client, server } = api
  const caught = (promise: Promise<unknown>) =>
    promise.then(
      () => expect.unreachable(),
      (error: unknown) => error as InvalidInputError,
    )
  const badInput = { id: 1, cents: 'x' } as never
  const [remote, inProcess] = [
    await caught(client.start(order, badInput)),
    await caught(server.local.start(order, badInput)),
  ]
  expect(remote).toBeInstanceOf(InvalidInputError)
  expect([remote.message, remote.problems]).toEqual([inProcess.message, inProcess.problems])
  await expect(client.get('nope')).rejects.toThrow(RunNotFoundError)
  await expect(client.start('nope', {})).rejects.toThrow(UnknownWorkflowError)
  await expect(
    client.start(
      workflow('order', { version: 9 }, async () => 1),
      {},
    ),
  ).rejects.toThrow('no version 9')
  await client.start(sleeper, undefined, { id: 'r1' })
  await expect(client.retry('r1')).rejects.toThrow(ConflictError)
  await expect(client.start(sleeper, { other: true }, { id: 'r1' })).rejects.toThrow(ConflictError)
  await expect(client.start(sleeper, (() => 1) as never)).rejects.toThrow(InvalidInputError)
  await expect(client.result('r1', { timeout: 1 })).rejects.toThrow(TimeoutError)
})

test('a failed run rejects with its error and the chain of its causes', async () => {
  await using api = await open()
  const { runId } = await api.client.start(flaky, undefined)
  const error = await api.client.result(runId).catch((error: unknown) => error as RunFailedError)
  expect(error).toBeInstanceOf(RunFailedError)
  const { status, cause } = error as RunFailedError
  expect(status).toBe('failed')
  expect(cause).toBeInstanceOf(StepError)
  expect((cause as StepError).step).toBe('work')
})

test('it carries a bearer token', async () => {
  await using api = await open({ authorize: bearer('t0ken') })
  await expect(api.client.list()).rejects.toMatchObject({
    name: 'HttpError',
    status: 401,
    type: 'urn:overwinter:problem:unauthorized',
  })
  await expect(api.client.list()).rejects.toThrow(HttpError)
  const client = new OverwinterClient({ url: api.server.url, token: 't0ken' })
  expect((await client.list()).runs).toEqual([])
})

test('names that need encoding arrive as they are', async () => {
  await using api = await open()
  const { runId } = await api.client.start(oddName, undefined, { id: 'a+b@c:d' })
  expect(await api.client.result(runId)).toBe('odd')
})

test('neither it nor what it imports needs Node', () => {
  const seen = new Set<string>()
  const visit = (file: string) => {
    if (seen.has(file)) return
    seen.add(file)
    for (const [, from] of readFileSync(file, 'utf8').matchAll(
      /^(?:import|export) (?:\{[^}]*\}|\* as \w+|\*|\w+(?<!type)) from '([^']+)'/gm,
    )) {
      expect(from, `import in ${file}`).toMatch(/^\./)
      visit(resolve(dirname(file), from!))
    }
  }
  visit(resolve(import.meta.dirname, '../../sdk/http-client/index.ts'))
  const files = [...seen].map((file) => file.split('/sdk/')[1])
  expect(files).toEqual(expect.arrayContaining(['http-client/transport.ts', 'base/errors.ts', 'base/schema.ts']))
})

test('values that JSON has no word for go through the API unchanged, and can be read in it', async () => {
  const note = signal<Map<string, bigint>>('note')
  const travels = workflow('travels', async (ctx, { at }: { at: Date }) => {
    const noted = await ctx.waitFor(note)
    return { at, noted }
  })
  await using server = await serveLocal({ path: ':memory:', workflows: [travels], port: 0, log: () => {} })
  const client = new OverwinterClient({ url: server.url })
  const at = new Date('2026-03-01T12:00:00Z')
  const { runId } = await client.start(travels, { at })
  await client.signal(runId, note, new Map([['a', 1n]]))
  expect(await client.result(runId)).toEqual({ at, noted: new Map([['a', 1n]]) })
  const { input, output } = (await (await fetch(`${server.url}/runs/${runId}`)).json()) as {
    input: unknown
    output: unknown
  }
  expect(input).toEqual({ at: { '~date': '2026-03-01T12:00:00.000Z' } })
  expect(output).toEqual({
    at: { '~date': '2026-03-01T12:00:00.000Z' },
    noted: { '~map': [['a', { '~bigint': '1' }]] },
  })
})
