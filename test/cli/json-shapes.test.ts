import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { LocalServer } from '../../functions/local/serve.ts'
import * as shapes from '../../sdk/http-api/index.ts'
import type { Shape } from '../../sdk/http-api/kit.ts'
import { limit, request, schedule, signal, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { serveLocal } from '../http/by-the-document.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { overwinter, Project } from './fixture.ts'

const go = signal('go')
const price = request<string, number>('price')
const scarce = limit('scarce', { concurrency: 1 })
const add = workflow('add', { tags: ['sum'] }, async (ctx) => ctx.step('add', () => 3, { limit: scarce }))
const flaky = workflow('flaky', async (ctx) =>
  ctx.step('work', () => Promise.reject(new Error('out of order')), { retry: { attempts: 1 } }),
)
const waits = workflow('waits', async (ctx) => {
  const { promise } = ctx.callback('decide')
  void promise.catch(() => {})
  const { reply } = await ctx.waitFor(price)
  reply(250)
  await ctx.waitFor(go)
  return promise
})
const nap = workflow('nap', async (ctx) => ctx.sleep('nap', '1h'))
const nightly = schedule('nightly', { cron: '0 2 * * *' }, nap, undefined)

let local: Local
let server: LocalServer
let project: Project
beforeAll(async () => {
  local = await Local.open({
    path: ':memory:',
    workflows: [add, flaky, waits, nap],
    schedules: [nightly],
    log: () => {},
  })
  server = await serveLocal({ local, port: 0 })
  project = new Project()
  await local.start(add, undefined, { id: 'sum' })
  await local.result('sum')
  await local.start(flaky, undefined, { id: 'bad' })
  await local.result('bad').catch(() => {})
  await local.start(waits, undefined, { id: 'w' })
  await local.start(nap, undefined, { id: 'n' })
  await vi.waitFor(async () => expect((await local.get('w')).status).toBe('waiting'), PATIENCE_MS)
  await vi.waitFor(async () => expect((await local.get('n')).status).toBe('sleeping'), PATIENCE_MS)
})
afterAll(async () => {
  await server.close(10)
  await local.close(10)
  project[Symbol.dispose]()
})

const cli = async (...args: string[]) => {
  const { code, stdout, stderr } = await overwinter([...args, '--json', '--url', server.url])
  expect([code, stderr]).toEqual([0, ''])
  return JSON.parse(stdout) as Record<string, unknown>
}

/** `more`: what the command line tells beside what the API does. */
function expectFit(shape: Shape, data: Record<string, unknown>, more: readonly string[] = []): void {
  const told = Object.fromEntries(Object.entries(data).filter(([name]) => !more.includes(name)))
  const { success, error } = shape.safeParse(told)
  expect(success ? [] : error?.issues).toEqual([])
  expect(Object.keys(data)).toEqual(expect.arrayContaining([...more]))
}

const COMMANDS: [command: string, shape: Shape, more?: string[]][] = [
  ['runs', shapes.RunPage],
  ['show sum', shapes.Run, ['history']],
  ['show w', shapes.Run, ['history']],
  ['history sum', shapes.History],
  ['why w', shapes.Why],
  ['start add', shapes.Started, ['created']],
  ['start add --wait', shapes.Run],
  ['signal w go', shapes.Accepted, ['runId']],
  ['ask w price', shapes.Reply],
  ['callbacks list w', shapes.Callbacks],
  ['wake n', shapes.Started],
  ['rerun sum', shapes.Started, ['created']],
  ['retry bad', shapes.Started],
  ['cancel w', shapes.Started],
  ['incidents', shapes.Incidents],
  ['limits', shapes.Limits],
  ['limits show scarce', shapes.Limit],
  ['limits set scarce --concurrency 2', shapes.Limit],
  ['limits pause scarce', shapes.Limit],
  ['pause add', shapes.Pause],
  ['pauses', shapes.Pauses],
  ['resume add', shapes.Pause],
  ['schedules', shapes.Schedules],
  ['schedules pause nightly', shapes.Accepted, ['name', 'action']],
  ['workers', shapes.Workers],
  ['tokens create reader --scope read --workflow add', shapes.NewToken],
  ['tokens create worker --types llm --expires 1d', shapes.NewToken],
  ['tokens list', shapes.Tokens],
  ['erase --tag sum --yes', shapes.Started],
]

test.each(COMMANDS)('%s --json has the names of the API', async (command, shape, more) => {
  expectFit(shape, await cli(...command.split(' ')), more)
})

test('definitions --json has the names of the API', async () => {
  const file = project.path('stored.json')
  writeFileSync(file, JSON.stringify({ name: 'stored', steps: [{ name: 'w', type: 'wait', durationMs: 1_000 }] }))
  expectFit(shapes.SavedDefinition, await cli('definitions', 'put', file), ['isNew'])
  expectFit(shapes.Definitions, await cli('definitions'))
  expectFit(shapes.StoredDefinition, await cli('definitions', 'get', 'stored'))
})

test('what is done to many runs has the names of the API', async () => {
  await local.start(nap, undefined, { id: 'n2', tags: ['many'] })
  const told = await cli('cancel', '--tag', 'many', '--yes')
  const started = ['runId', 'status']
  expectFit(shapes.WouldSteer, told, started)
  expectFit(shapes.Started, Object.fromEntries(started.map((name) => [name, told[name]])))
})

test('an answer to a callback has the names of the API', async () => {
  for (const [id, answer] of Object.entries({ yes: ['complete'], no: ['fail', '--message', 'no'] })) {
    await local.start(waits, undefined, { id })
    await expect.poll(async () => (await local.listCallbacks(id)).length).toBe(1)
    const [callback] = await local.listCallbacks(id)
    const [verb, ...rest] = answer
    const told = await cli('callbacks', verb!, callback!.token, ...rest)
    expectFit(shapes.Accepted, told, [verb === 'fail' ? 'failed' : 'completed'])
  }
})
