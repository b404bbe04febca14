import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LocalServer } from '../../functions/local/serve.ts'
import { handler } from '../../sdk/definitions/index.ts'
import { Local } from '../../sdk/local.ts'
import { serveLocal } from '../http/by-the-document.ts'
import { type Output, overwinter, Project, pause, startDev } from './fixture.ts'

const greet = {
  name: 'greet',
  version: '1.0',
  steps: [
    { type: 'task', name: 'hello', handler: 'say' },
    { type: 'wait', name: 'nap', durationMs: 3_600_000 },
    { type: 'task', name: 'goodbye', handler: 'say' },
  ],
}

let local: Local
let server: LocalServer
beforeAll(async () => {
  local = await Local.open({ path: ':memory:', workflows: [], handlers: [handler('say', () => 'said')], log: () => {} })
  server = await serveLocal({ local, port: 0 })
})
afterAll(async () => {
  await server.close(10)
  await local.close(10)
})

const cli = (...args: string[]): Promise<Output> => overwinter([...args, '--url', server.url])
const withFiles = (files: Record<string, unknown>) =>
  new Project(Object.fromEntries(Object.entries(files).map(([name, value]) => [name, JSON.stringify(value)])))

describe('definitions', () => {
  test('are put, listed, shown in any version, and deleted', async () => {
    using project = withFiles({ 'one.json': greet, 'two.json': { ...greet, version: '2.0' } })
    expect((await cli('definitions')).stdout).toBe('no definitions\n')
    expect((await cli('definitions', 'put', project.path('one.json'))).stdout).toBe('greet is saved as version 1\n')
    expect((await cli('definitions', 'put', project.path('one.json'))).stdout).toBe(
      'greet has not changed since version 1\n',
    )
    expect((await cli('definitions', 'put', project.path('two.json'))).stdout).toBe('greet is saved as version 2\n')
    expect((await cli('definitions')).stdout).toMatch(/^greet {2}version 2 \(2\.0\) {2}saved .*\n$/)
    expect(JSON.parse((await cli('definitions', 'get', 'greet')).stdout)).toEqual({ ...greet, version: '2.0' })
    expect(JSON.parse((await cli('definitions', 'get', 'greet', '1', '--json')).stdout)).toMatchObject({
      version: 1,
      definition: greet,
    })
    expect(await cli('definitions', 'get', 'greet', 'x')).toMatchObject({ code: 2 })
    expect(await cli('definitions', 'get', 'nobody')).toMatchObject({
      code: 1,
      stderr: "no definition is named 'nobody'; known: greet\n",
    })
    expect((await cli('definitions', 'delete', 'greet')).stdout).toBe('greet is deleted\n')
    expect((await cli('definitions')).stdout).toBe('no definitions\n')
  })

  test('that are not valid are refused with every path; a file without a name needs one', async () => {
    using project = withFiles({
      'bad.json': {
        name: 'bad',
        steps: [
          { type: 'wait', name: 'w' },
          { type: 'task', name: 'w', handler: 'x' },
        ],
      },
      'anonymous.json': { steps: greet.steps },
    })
    const { code, stderr } = await cli('definitions', 'put', project.path('bad.json'))
    expect(code).toBe(1)
    for (const path of ['$.steps[1].name', '$.steps[0]:', '$.steps[1].handler']) expect(stderr).toContain(path)
    expect(await cli('definitions', 'put', project.path('anonymous.json'))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('give --name'),
    })
    expect(await cli('definitions', 'put', project.path('anonymous.json'), '--name', 'named')).toMatchObject({
      code: 0,
      stdout: 'named is saved as version 1\n',
    })
  })
})

test('dev takes up the handlers that a file exports, so that definitions can call them', async () => {
  using project = withFiles({
    'greet.json': { name: 'greet', steps: [{ type: 'task', name: 'hello', handler: 'greeting' }] },
  })
  project.write(
    'workflows/index.ts',
    "import { handler } from 'overwinter/definitions'\nexport const greeting = handler('greeting', ({ input }) => 'hello ' + input)\n",
  )
  await using dev = startDev([], { cwd: project.folder, env: { PORT: '0' } })
  const [, url] = await dev.says(/on (http:\/\/localhost:\d+)/)
  await dev.says(/definitions put <file>/)
  expect((await overwinter(['definitions', 'put', project.path('greet.json'), '--url', url!])).stdout).toBe(
    'greet is saved as version 1\n',
  )
  const { stdout } = await overwinter(['start', 'greet', '--input', '"Ada"', '--wait', '20s', '--json', '--url', url!])
  expect(JSON.parse(stdout)).toMatchObject({ status: 'completed', output: { outputs: { hello: 'hello Ada' } } })
})

describe('lint', () => {
  test('offline, finds what is wrong with the schema, the graph and the expressions, and leaves handlers alone', async () => {
    const cycle = {
      name: 'c',
      steps: [
        { type: 'task', name: 'a', handler: 'h', after: 'b' },
        { type: 'task', name: 'b', handler: 'h', after: 'a' },
      ],
    }
    const formula = { name: 'f', steps: [{ type: 'task', name: 'a', handler: 'h', config: '{{ 1 + }}' }] }
    const long = { name: 'l', steps: [{ type: 'wait', name: 'w', durationMs: 31 * 86_400_000 }] }
    using project = withFiles({
      'fine.json': greet,
      'cycle.json': cycle,
      'formula.json': formula,
      'long.json': long,
      'shape.json': { steps: [] },
    })
    const lint = (file: string, ...args: string[]) => overwinter(['lint', project.path(file), ...args])
    expect(await lint('fine.json')).toMatchObject({ code: 0, stdout: expect.stringContaining('fine.json is fine') })
    expect(await lint('cycle.json')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^problem {2}\$\.steps {2}.*circle: a ← b ← a\n$/),
    })
    expect(await lint('formula.json')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('$.steps[0].config  cannot be evaluated as JSONata'),
    })
    expect(await lint('long.json')).toMatchObject({
      code: 0,
      stdout: 'warning  $.steps[0].durationMs  is longer than 30 days\n',
    })
    const { code, stdout } = await lint('shape.json', '--json')
    expect([code, JSON.parse(stdout).problems.map(({ path }: { path: string }) => path)]).toEqual([
      1,
      ['$.name', '$.steps'],
    ])
    expect(await lint('nowhere.json')).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot read') })
  })

  test('with --entry or --url, knows the handlers and workflows too', async () => {
    const odd = {
      name: 'odd',
      steps: [
        { type: 'task', name: 'a', handler: 'shout' },
        { type: 'workflow', name: 'b', workflow: 'nobody' },
      ],
    }
    using project = withFiles({ 'odd.json': odd, 'fine.json': greet })
    project.write(
      'flows.ts',
      "import { handler } from 'overwinter/definitions'\nexport const shout = handler('shout', () => 'HEY')\n",
    )
    const byEntry = await overwinter(['lint', project.path('odd.json'), '--entry', project.path('flows.ts')])
    expect(byEntry).toMatchObject({
      code: 1,
      stdout: "problem  $.steps[1].workflow  there is no workflow 'nobody'; known: none\n",
    })
    const byUrl = await cli('lint', project.path('odd.json'))
    expect(byUrl.code).toBe(1)
    expect(byUrl.stdout).toMatch(
      /^problem {2}\$\.steps\[0\]\.handler {2}.*known: say\nproblem {2}\$\.steps\[1\]\.workflow {2}/,
    )
    expect(await cli('lint', project.path('fine.json'))).toMatchObject({ code: 0 })
  })
})

describe('graph', () => {
  test('draws a definition as Mermaid or SVG', async () => {
    using project = withFiles({ 'greet.json': greet, 'bad.json': {} })
    expect((await overwinter(['graph', project.path('greet.json')])).stdout).toContain('s1["nap (wait)"]\n')
    const svg = (await overwinter(['graph', project.path('greet.json'), '--format', 'svg'])).stdout
    expect(svg).toMatch(/^<svg [\s\S]*<\/svg>\n$/)
    for (const name of ['hello', 'nap', 'goodbye']) expect(svg).toContain(`<title>${name}</title>`)
    expect(await overwinter(['graph', project.path('bad.json')])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot be drawn'),
    })
    expect(await overwinter(['graph', project.path('greet.json'), '--format', 'png'])).toMatchObject({ code: 2 })
  })

  test('colours the steps of a run by how far they have come', async () => {
    await local.definitions.save('sleepy', { ...greet, name: 'sleepy' })
    const { runId } = await local.start('sleepy', undefined)
    while ((await local.get(runId)).status !== 'sleeping') await pause(5)
    const { stdout } = await cli('graph', runId)
    expect(stdout).toContain('s0["hello (COMPLETED)"]')
    expect(stdout).toContain('s1["nap (wait, WAITING)"]')
    expect(stdout).toContain('s2["goodbye (PENDING)"]')
    expect(stdout).toMatch(/style s1 fill:#fff8c5/)
    expect((await cli('graph', runId, '-f', 'svg')).stdout).toContain('wait · WAITING')
    expect(await cli('graph', 'no-such-run')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no run no-such-run'),
    })
  })
})
