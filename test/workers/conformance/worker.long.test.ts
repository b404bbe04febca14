import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TASKS } from '../../../cli/conformance/worker-checks.ts'
import { Worker } from '../../../sdk/worker/index.ts'
import { Running, root } from '../../cli/fixture.ts'
import { KeptAlive, LANGUAGES } from '../processes.ts'

/** The suite as a user runs it, and where it says that the worker has to go. */
async function suite(...options: string[]) {
  const running = new Running(
    process.execPath,
    ['--conditions=overwinter-source', join(root, 'cli/main.ts'), 'conformance', '--worker', ...options],
    {},
  )
  const [, url, token] = await running.says(/OVERWINTER_URL=(\S+) OVERWINTER_WORKER_TOKEN=(\S+)\n/)
  return { running, url: url!, token: token! }
}

test.each(Object.entries(LANGUAGES))(
  'the reference worker in %s does all that the suite asks for',
  async (_language, launch) => {
    const { running, url, token } = await suite()
    await using _ = running
    await using worker = new KeptAlive(() =>
      launch('conformance', { OVERWINTER_URL: url, OVERWINTER_WORKER_TOKEN: token }),
    )
    expect(await running.exited, running.stdout + running.stderr).toBe(0)
    expect(running.stdout.match(/^✓ /gm)).toHaveLength(8)
    // The crash was one.
    expect(worker.starts).toBe(2)
  },
)

test('a worker that does it wrong is told what is wrong with each', async () => {
  const { running, url, token } = await suite('--within', '60s')
  await using _ = running
  const wrong = new Worker({
    url,
    token,
    tasks: Object.fromEntries(Object.keys(TASKS).map((type) => [type, () => 'whatever'])),
    log: () => {},
  })
  expect(await running.exited).toBe(1)
  await wrong.stop(1)
  expect(running.stdout).toMatch(/^✓ it is registered/m)
  expect(running.stdout.match(/^✗ /gm)).toHaveLength(7)
  expect(running.stdout).toMatch(/^✗ fail-once: .*: the output should be \{"attempt":2\}, and is "whatever"$/m)
})

test('a worker that never comes is reported as such', async () => {
  const { running } = await suite('--within', '100ms')
  await using _ = running
  expect(await running.exited).toBe(1)
  expect(running.stdout).toMatch(/^✗ it is registered.*: not after 0.1 s: a worker for echo, /m)
  expect(running.stdout).toMatch(/^✗ echo: .*: the task 'echo' was not done after 0.1 s; no worker has taken it$/m)
})
