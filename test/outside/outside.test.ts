import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { outerEnvironment } from './environment.ts'
import { freePort, untilFree } from './free-port.ts'

/** One that is dead and that nobody has asked about (a zombie) still has a number. */
const isAlive = (pid: number) =>
  /^[^Z]/.test(spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout)

/** Starts a process that has a child of its own, says the numbers of both, and waits to be killed. */
const TEST_PROCESS = `
import { Running } from './test/cli/fixture.ts'
const running = new Running('sh', ['-c', 'sleep 1000 & echo $!; wait'], {})
const [, grandchild] = await running.says(/(\\d+)/)
console.log(JSON.stringify([running.child.pid, Number(grandchild)]))
setInterval(() => {}, 1_000)
`

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'a test that is ended by %s leaves no process behind, nor what that has started',
  async (signal) => {
    const dying = spawn(
      process.execPath,
      ['--conditions=overwinter-source', '--input-type=module', '--eval', TEST_PROCESS],
      {
        cwd: new URL('../..', import.meta.url).pathname,
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    const [said] = (await once(dying.stdout, 'data')) as [Buffer]
    const pids = JSON.parse(said.toString()) as number[]
    expect(pids.map(isAlive)).toEqual([true, true])
    dying.kill(signal)
    while (pids.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, 20))
  },
)

test('what is tested sees nothing of the terminal that the tests were started in, but the way to the network', () => {
  const terminal = {
    HOME: '/home/ada',
    PATH: '/a/node_modules/.bin:/bin',
    HTTPS_PROXY: 'http://proxy',
    npm_config_cache: '/cache',
    AWS_PROFILE: 'work',
    AWS_REGION: 'eu-west-1',
    OVERWINTER_URL: 'https://production',
    PORT: '4400',
    GIT_DIR: '.git',
    NODE_OPTIONS: '--inspect',
    npm_lifecycle_event: 'test',
    VITEST_WORKER_ID: '1',
  }
  const seen = outerEnvironment(terminal)
  expect(seen).toMatchObject({
    HOME: '/home/ada',
    PATH: '/bin',
    HTTPS_PROXY: 'http://proxy',
    npm_config_cache: '/cache',
    AWS_CONFIG_FILE: '/dev/null',
  })
  for (const name of [
    'AWS_PROFILE',
    'AWS_REGION',
    'OVERWINTER_URL',
    'PORT',
    'GIT_DIR',
    'NODE_OPTIONS',
    'npm_lifecycle_event',
    'VITEST_WORKER_ID',
  ])
    expect(seen).not.toHaveProperty(name)
})

test('what is tested in this process sees no credentials and no address either', () => {
  expect(
    Object.keys(process.env).filter((name) => /^(OVERWINTER_|PORT$)|^AWS_(PROFILE|REGION|ACCESS|ENDPOINT)/.test(name)),
  ).toEqual([])
})

test('a port that is free is none that the operating system gives to those who ask for any, and one that is taken is waited for', async () => {
  const port = await freePort()
  expect(port).toBeLessThan(32_768)
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  let isFree = false
  const free = untilFree(port).then(() => (isFree = true))
  await new Promise((resolve) => setImmediate(resolve))
  expect(isFree).toBe(false)
  server.close()
  await free
})
