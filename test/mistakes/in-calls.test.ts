import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import * as z from 'zod'
import { type LocalServer, serveLocal } from '../../functions/local/serve.ts'
import { signal, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { overwinter, pause } from '../cli/fixture.ts'

const paid = signal('paid', z.object({ cents: z.number() }))
const order = workflow('order', { input: z.object({ id: z.string() }), signals: [paid] }, async (ctx) =>
  ctx.waitFor(paid),
)
const lax = workflow('lax', async (ctx) => ctx.waitFor(paid))
const WORKFLOWS = [order, lax]

let local: Local
let server: LocalServer
beforeAll(async () => {
  local = await Local.open({ path: ':memory:', workflows: WORKFLOWS, log: () => {} })
  server = await serveLocal({ local, port: 0 })
})
afterAll(async () => {
  await server.close(10)
  await local.close(10)
})

const cli = async (...args: string[]) => (await overwinter([...args, '--url', server.url])).stderr
async function post(path: string, body: string) {
  const response = await fetch(server.url + path, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
  })
  const { type: _, title: __, ...rest } = (await response.json()) as Record<string, unknown>
  return rest
}
const waiting = async (id: string) => {
  while ((await local.get(id)).status !== 'waiting') await pause(5)
}

describe('a signal that does not fit', () => {
  const SAID = "the payload of signal 'paid' does not fit its schema; change what is listed here and try again"
  const PROBLEM = 'Invalid input: expected number, received string'

  it('is refused when it is sent with the definition, and the run keeps waiting', async () => {
    const env = await testEnv({ workflows: WORKFLOWS })
    const run = await env.start(order, { id: 'o' })
    await expect(run.signal(paid, { cents: 'x' } as never)).rejects.toMatchObject({
      message: `${SAID}\n  $.cents: ${PROBLEM}`,
    })
    expect(await run.status()).toBe('waiting')
  })

  it('is set aside if it was sent by name, and the history says why', async () => {
    await local.start(lax, undefined, { id: 'aside' })
    await waiting('aside')
    await post('/runs/aside/signals/paid', '{"cents":"x"}')
    const find = async () => (await local.history('aside')).find((event) => event.type === 'signal.rejected')
    while (!(await find())) await pause(5)
    expect((await find())!.reason).toBe(`signal 'paid' does not fit its schema\n  $.cents: ${PROBLEM}`)
  })

  it('by its name, which is told with those that are known', async () => {
    await local.start(order, { id: 'o' }, { id: 'misspelt' })
    const detail = "run 'misspelt' of workflow 'order' does not wait for signals named 'payed'; known: paid"
    expect(await post('/runs/misspelt/signals/payed', '{"cents":5}')).toEqual({ status: 404, detail, known: ['paid'] })
    expect(await cli('signal', 'misspelt', 'payed', '-p', '{"cents":5}')).toBe(`${detail}\n`)
  })
})

describe('an unknown workflow', () => {
  const SAID = "no workflow is named 'oder'; known: lax, order. Is it spelt right, and does the entry file export it?"

  it('is refused in code', async () => {
    const env = await testEnv({ workflows: WORKFLOWS })
    await expect(env.client.start('oder', {})).rejects.toMatchObject({ message: SAID })
    await expect(local.start('oder', {})).rejects.toMatchObject({ message: SAID })
    const unregistered = workflow('oder', async () => 1)
    await expect(env.start(unregistered)).rejects.toMatchObject({
      message:
        "no workflow is named 'oder'; known: lax, order. Does the entry file export it? " +
        'Runs need the code they began with until they end: once it is deployed again, retry those that are stuck',
    })
  })

  it('is refused over HTTP and on the command line', async () => {
    expect(await post('/workflows/oder/runs', '{}')).toEqual({ status: 404, detail: SAID, known: ['lax', 'order'] })
    expect(await cli('start', 'oder')).toBe(`${SAID}\n`)
  })

  it('by its version', async () => {
    expect(await post('/workflows/lax/runs', '{"version":9}')).toEqual({
      status: 404,
      detail:
        "workflow 'lax' has no version 9; known versions: 1. Is it the right one, and does the entry file export it?",
      known: ['lax', 'order'],
    })
  })
})

describe('bad JSON', () => {
  it('over HTTP', async () => {
    expect(await post('/workflows/order/runs', "{'input': 1}")).toEqual({
      status: 400,
      detail:
        `the body is not JSON: Expected property name or '}' in JSON at position 1 (line 1 column 2). ` +
        `Texts and names need double quotes, and in a shell all of it needs single ones: -d '{"input":{"name":"Ada"}}'`,
      problems: [{ path: '$', message: 'is not JSON' }],
    })
  })

  it('on the command line', async () => {
    expect(await cli('start', 'order', '--input', '{id: 7}')).toBe(
      `error: option '-i, --input <json>' argument '{id: 7}' is invalid. It is not JSON: Expected property name or '}' in JSON at position 1 (line 1 column 2). ` +
        `A string needs its quotes: '"text"'. For a file, write @file.\n(--help says more)\n`,
    )
  })

  it('that is JSON but not what the request takes: the input without its field', async () => {
    expect(await post('/workflows/order/runs', '{"name":"Ada"}')).toEqual({
      status: 400,
      detail: 'the request is not valid; see problems',
      problems: [
        {
          path: '$.name',
          message:
            "is not known here; known: input, id, startAt, delay, tags, version. The workflow's own input goes under 'input'",
        },
        { path: '$.input', message: 'Invalid input: expected object, received undefined' },
      ],
    })
  })
})

test('input that does not fit', async () => {
  const env = await testEnv({ workflows: WORKFLOWS })
  const said = "the input of workflow 'order' does not fit its schema; change what is listed here and try again"
  const problem = 'Invalid input: expected string, received undefined'
  await expect(env.start(order, {} as never)).rejects.toMatchObject({ message: `${said}\n  $.id: ${problem}` })
  expect(await post('/workflows/order/runs', '{"input":{}}')).toEqual({
    status: 400,
    detail: said,
    problems: [{ path: '$.input.id', message: problem }],
  })
  expect(await cli('start', 'order', '-i', '{}')).toBe(`${said}\n  $.id: ${problem}\n`)
})

test('an id that is in use, with another input', async () => {
  const said =
    "run 'taken' exists already, with another input or of another workflow; choose another id, or start it with the same input to get that run"
  await local.start(order, { id: 'a' }, { id: 'taken' })
  await expect(local.start(order, { id: 'b' }, { id: 'taken' })).rejects.toMatchObject({ message: said })
  expect(await post('/workflows/order/runs', '{"id":"taken","input":{"id":"b"}}')).toEqual({
    status: 409,
    detail: said,
  })
  expect(await cli('start', 'order', '--id', 'taken', '-i', '{"id":"b"}')).toBe(`${said}\n`)
  const env = await testEnv({ workflows: WORKFLOWS })
  await env.start(order, { id: 'a' }, { id: 'taken' })
  await expect(env.start(order, { id: 'b' }, { id: 'taken' })).rejects.toMatchObject({ message: said })
})
