import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { freePort, untilFree } from '../outside/free-port.ts'
import { overwinter, Project, pause, Running, root, startDev } from './fixture.ts'

const CURL = /^ +(curl .*)$/m
const URL_SAID = /on (http:\/\/localhost:\d+)/

// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
const get = async (url: string): Promise<any> => (await fetch(url)).json()

const counted = (greeting: string) => `
import { appendFileSync } from 'node:fs'
import { workflow } from 'overwinter'
const effect = (name: string) => () => void appendFileSync('effects', name + '\\n')
export const nap = workflow('nap', async (ctx, { ms }: { ms: number }) => {
  await ctx.step('before', effect('before'))
  await ctx.sleep('sleep', ms)
  await ctx.step('after', effect('after'))
  return '${greeting}'
})
`

test('a SIGKILL of npm alone leaves nothing behind that holds the port', async () => {
  using project = new Project()
  const port = await freePort()
  const env = { PORT: String(port), OVERWINTER_DATA: project.path('data') }
  await using first = new Running('npm', ['run', 'dev'], { cwd: root, env })
  await first.says(CURL)
  process.kill(first.child.pid!, 'SIGKILL')
  await untilFree(port)
  await using second = new Running('npm', ['run', 'dev'], { cwd: root, env })
  await second.says(CURL)
})

test('changed code is picked up on the same port; a run that sleeps across it goes on with the new code, and repeats nothing', async () => {
  using project = new Project({
    'workflows/index.ts': `export { nap } from './nap.ts'`,
    'workflows/nap.ts': counted('old'),
  })
  await using dev = startDev([], { cwd: project.folder, env: { PORT: '0' } })
  const [, url] = await dev.says(URL_SAID)
  const body = JSON.stringify({ id: 'n', input: { ms: 3_600_000 } })
  await fetch(`${url}/workflows/nap/runs`, { method: 'POST', body })
  while ((await get(`${url}/runs/n`)).status !== 'sleeping') await pause(20)
  project.write('workflows/nap.ts', counted('new'))
  await dev.says(/runs the new code/)
  await fetch(`${url}/runs/n/wake`, { method: 'POST' })
  expect((await get(`${url}/runs/n?wait=60s`)).output).toBe('new')
  expect(readFileSync(project.path('effects'), 'utf8')).toBe('before\nafter\n')
})

test('the terminal tells the lives of runs: started, a step that failed and the line it did so on, asleep until when, done', async () => {
  using project = new Project({
    'flows.ts': `import { workflow } from 'overwinter'
export const life = workflow('life', async (ctx) => {
  await ctx.step('pay', ({ attempt }) => {
    if (attempt === 1) throw new Error('card refused')
  }, { retry: { initial: 1 } })
  await ctx.sleep('night', '8h')
  await ctx.step('wreck', () => { throw new TypeError('broken') }, { retry: { attempts: 1 } })
})
export const fine = workflow('fine', async () => 1)
`,
  })
  await using dev = startDev(['flows.ts'], { cwd: project.folder, env: { PORT: '0' } })
  const [, url] = await dev.says(URL_SAID)
  await fetch(`${url}/workflows/life/runs`, { method: 'POST', body: JSON.stringify({ id: 'l' }) })
  await dev.says(/^● life l started$/m)
  await dev.says(/^✗ life l step 'pay' failed, attempt 1, next in .*: Error: card refused\n {4}at .*flows\.ts:4:\d+/m)
  await dev.says(/^◌ life l asleep until .*\d\d:\d\d:\d\d (UTC|[+-]\d\d:\d\d) \(in (8 h|7 h 59 min)\): 'night'$/m)
  await fetch(`${url}/runs/l/wake`, { method: 'POST' })
  await dev.says(/^✗ life l step 'wreck' failed for good, attempt 1: TypeError: broken\n {4}at .*flows\.ts:7:\d+/m)
  await dev.says(/^✗ life l failed with step 'wreck'$/m)
  const { error } = await get(`${url}/runs/l`)
  expect(error.cause.stack).toMatch(/flows\.ts:7:\d+.*\n.*flows\.ts:7:\d+/)
  await fetch(`${url}/workflows/fine/runs`, { method: 'POST', body: JSON.stringify({ id: 'f' }) })
  await dev.says(/^✓ fine f done$/m)
})

test('events do what the mappings of the entry say', async () => {
  const mapping = `import { startOn } from 'overwinter/events'\nexport const rest = startOn('rest', { workflow: nap, id: 'detail.id', input: 'detail' })\n`
  using project = new Project({ 'flows.ts': `${counted('rested')}${mapping}` })
  await using dev = startDev(['flows.ts'], { cwd: project.folder, env: { PORT: '0' } })
  const [, url] = await dev.says(URL_SAID)
  const post = () =>
    fetch(`${url}/events`, {
      method: 'POST',
      body: JSON.stringify({ mapping: 'rest', event: { id: 'e-1', detail: { id: 'n', ms: 1 } } }),
    })
  expect(await (await post()).json()).toEqual({ kind: 'start', runId: 'n', created: true })
  expect((await get(`${url}/runs/n?wait=60s`)).output).toBe('rested')
  expect(await (await post()).json()).toEqual({ kind: 'start', runId: 'n', created: false })
})

test('ctx.invoke calls the function that the file exports', async () => {
  using project = new Project({
    'flows.ts': `
      import { localFunction, workflow } from 'overwinter'
      export const double = localFunction('double', async (n: number) => n * 2)
      export const invoking = workflow('invoking', async (ctx, n: number) => ctx.invoke('double', n))
    `,
  })
  await using dev = startDev(['flows.ts'], { cwd: project.folder, env: { PORT: '0' } })
  const [, url] = await dev.says(URL_SAID)
  await fetch(`${url}/workflows/invoking/runs`, { method: 'POST', body: JSON.stringify({ id: 'i', input: 21 }) })
  expect((await get(`${url}/runs/i?wait=60s`)).output).toBe(42)
})

test('a module that does not load is told, and tried again once it has changed', async () => {
  using project = new Project({ 'flows.ts': 'export const broken = oops()' })
  await using dev = startDev(['flows.ts'], { cwd: project.folder, env: { PORT: '0' } })
  await dev.says(/oops is not defined[\s\S]*waiting for a change of flows.ts/)
  project.write('flows.ts', 'export const nothing = 1')
  await dev.says(/exports no workflow/)
  project.write('flows.ts', counted('mended'))
  await dev.says(URL_SAID)
})

test('the end of the server by its own hand is told, and a change brings it back; killed, it stays dead', async () => {
  const suicidal = `import { workflow } from 'overwinter'\nexport const end = workflow('end', async (ctx) => ctx.step('end', () => process.exit(7)))`
  using project = new Project({ 'flows.ts': suicidal })
  await using dev = startDev(['flows.ts'], { cwd: project.folder, env: { PORT: '0' } })
  const [, url] = await dev.says(URL_SAID)
  await fetch(`${url}/workflows/end/runs`, { method: 'POST', body: '{"id":"e"}' }).catch(() => {})
  await dev.says(/ended with exit code 7/)
  project.write('flows.ts', suicidal.replace('process.exit(7)', "'alive'"))
  await dev.says(/runs the new code|Start a run/)
  while (true) {
    const run = await get(`${url}/runs/e?wait=20s`).catch(() => undefined)
    if (run?.output === 'alive') break
    await pause(50)
  }
  project.write('flows.ts', suicidal.replace('process.exit(7)', "process.kill(process.pid, 'SIGKILL')"))
  await dev.says(/runs the new code[\s\S]*runs the new code/)
  await fetch(`${url}/workflows/end/runs`, { method: 'POST', body: '{"id":"f"}' }).catch(() => {})
  expect(await dev.exited).toBe(137)
})

test('a port that is taken, a file that is not there and a port that is none are told, each with what to do', async () => {
  using project = new Project({ 'workflows/index.ts': counted('x') })
  await using dev = startDev([], { cwd: project.folder, env: { PORT: '0' } })
  const [, url] = await dev.says(URL_SAID)
  const port = Number(new URL(url!).port)
  const taken = await overwinter(['dev'], { cwd: project.folder, env: { PORT: String(port) } })
  expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining(`port ${port} is taken`) })
  expect(taken.stderr).toContain(`PORT=${port + 1}`)
  const missing = await overwinter(['dev', 'nowhere.ts'], { cwd: project.folder, env: { PORT: '0' } })
  expect(missing).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/there is no file .*nowhere\.ts; name the one/),
  })
  const odd = await overwinter(['dev', '--port', '70000'], { cwd: project.folder })
  expect(odd).toMatchObject({ code: 2, stderr: expect.stringContaining('0 to 65535') })
})

test('Ctrl-C ends it in order, with exit code 0', async () => {
  using project = new Project({ 'workflows/index.ts': counted('x') })
  await using dev = startDev([], { cwd: project.folder, env: { PORT: '0' } })
  await dev.says(URL_SAID)
  expect(await dev.kill('SIGINT')).toBe(0)
})
