import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Running, root } from '../cli/fixture.ts'
import { LONG_TEST_MS } from '../outside/patience.ts'

/** What a stranger gets: the tarball in an empty project, and the project that `overwinter init` makes. */

const folder = mkdtempSync(join(tmpdir(), 'overwinter-package-'))
const bin = (name: string) => join(root, 'node_modules/.bin', name)
// The tools of this repository must not stand in for those that the project forgot.
const PATH = [
  dirname(process.execPath),
  ...process.env.PATH!.split(delimiter).filter((path) => !path.includes('node_modules')),
].join(delimiter)
const INSTALL = ['install', '--prefer-offline', '--no-audit', '--no-fund']
const README = readFileSync(join(root, 'README.md'), 'utf8')
let tarball: string
let createTarball: string

async function runs(command: string, args: string[], cwd: string, env: Record<string, string> = {}): Promise<string> {
  await using process = new Running(command, args, { cwd, env: { PATH, ...env } })
  const code = await process.exited
  expect(code, `${command} ${args.join(' ')}\n${process.stdout}\n${process.stderr}`).toBe(0)
  return process.stdout
}

function project(name: string, files: Record<string, string>): string {
  const path = join(folder, name)
  mkdirSync(path)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text)
  return path
}

beforeAll(async () => {
  await using packed = new Running('npm', ['pack', '--pack-destination', folder], { cwd: root })
  expect(await packed.exited, packed.stderr).toBe(0)
  await using alsoPacked = new Running('npm', ['pack', '--pack-destination', folder], { cwd: join(root, 'create') })
  expect(await alsoPacked.exited, alsoPacked.stderr).toBe(0)
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  tarball = join(folder, `overwinter-${version}.tgz`)
  createTarball = join(folder, `create-overwinter-${version}.tgz`)
}, LONG_TEST_MS)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('publint and arethetypeswrong have nothing to say against it', async () => {
  await runs(bin('publint'), ['--strict', tarball], folder)
  await runs(bin('attw'), [tarball, '--profile', 'esm-only'], folder)
})

const PROGRAM = `
import { FatalError, workflow } from 'overwinter'
import { OverwinterClient } from 'overwinter/client'
import { sigv4 } from 'overwinter/client/sigv4'
import { Local } from 'overwinter/local'
import { testEnv } from 'overwinter/testing'

const hello = workflow('hello', async (ctx, name: string) => {
  await ctx.sleep(30)
  return ctx.step('greet', () => \`hello \${name}\`)
})
await using local = await Local.open({ path: 'runs.db', workflows: [hello] })
const { runId } = await local.start(hello, 'Ada')
const greeting: string = await local.result<string>(runId)
// @ts-expect-error the input is a string
const wrong = () => local.start(hello, 1)
const env = await testEnv({ workflows: [hello] })
const again: string = await (await env.start(hello, 'Bo')).result()
console.log(greeting, again, typeof OverwinterClient, typeof sigv4, new FatalError('x').name, typeof wrong)
`

test('it installs into an empty project, type-checks there and runs', { timeout: LONG_TEST_MS }, async () => {
  const tsconfig = {
    compilerOptions: {
      module: 'nodenext',
      target: 'es2024',
      lib: ['es2024', 'esnext.disposable'],
      types: ['node'],
      strict: true,
      noEmit: true,
    },
  }
  const path = project('empty', {
    'package.json': '{ "type": "module", "private": true }',
    'program.ts': PROGRAM,
    'tsconfig.json': JSON.stringify(tsconfig),
  })
  await runs('npm', [...INSTALL, tarball], path)
  const types = join(root, 'node_modules/@types')
  await runs(bin('tsc'), ['-p', path, '--typeRoots', types], path)
  expect(await runs('node', ['program.ts'], path)).toBe('hello Ada hello Bo function function FatalError function\n')
})

test('README’s first hour: npm create, npm test, the first workflow as written, cdk synth and npm run dev, from tarballs, in an empty folder and home', {
  timeout: LONG_TEST_MS,
}, async () => {
  const home = mkdtempSync(join(folder, 'home-'))
  const env = { HOME: home, USERPROFILE: home }
  const path = join(home, 'My Flows')
  // What npm does for `npm create overwinter@latest`, with the tarballs in place of the registry.
  const create = [
    'exec',
    '--yes',
    `--package=${createTarball}`,
    `--package=${tarball}`,
    '--',
    'create-overwinter',
    'My Flows',
    '--package',
    tarball,
  ]
  expect(await runs('npm', create, home, env)).toMatch(/npm install && npm test\nThen: npm run dev\n$/)
  const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  expect(manifest).toMatchObject({ name: 'my-flows', dependencies: { overwinter: `file:${tarball}` } })
  await runs('npm', INSTALL, path, env)

  expect(await runs('npm', ['test'], path, env)).toMatch(/pass 2\n/)
  await runs('npm', ['run', 'check'], path, env)
  await runs('npm', ['run', 'synth'], path, env)
  expect(readFileSync(join(path, 'cdk.out/MyFlows.template.json'), 'utf8')).toContain('AWS::Lambda::Function')

  // Where llms.txt leads is there.
  const links = [...readFileSync(join(path, 'llms.txt'), 'utf8').matchAll(/\]\(([^)]+)\)/g)].map(([, file]) => file!)
  expect(links.filter((file) => !existsSync(join(path, file)))).toEqual([])

  const [, code] = /```ts\n([\s\S]*?)```/.exec(README)!
  const [, printed] = /```console\n([\s\S]*?)```/.exec(README)!
  const [file, command] = [/Save this as `(\S+)`/.exec(README)![1]!, /and run it:\n\n```sh\n(.*)\n/.exec(README)![1]!]
  writeFileSync(join(path, file), code!)
  expect(await runs('sh', ['-c', command], path, env)).toBe(printed)

  await using dev = new Running('npm', ['run', 'dev'], { cwd: path, env: { PATH, ...env, PORT: '0' } })
  const [, url] = await dev.says(/on (http:\/\/localhost:\d+)/)
  const [, curl] = await dev.says(/^ +(curl .*)$/m)
  const { runId } = JSON.parse(await runs('sh', ['-c', `${curl} --silent`], path)) as { runId: string }
  await dev.says(new RegExp(`mail ${runId}/send-mail: Dear Ada`))
  expect(await runs('npx', ['overwinter', 'show', runId, '--url', url!], path)).toContain(
    "waits for signal 'confirmed'",
  )
})
