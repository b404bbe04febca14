import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RunFailedError } from '../../sdk/index.ts'
import { research } from '../../workflows/research.ts'
import { Running, root } from '../cli/fixture.ts'
import { serveLocal } from '../http/by-the-document.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { TOKEN } from './fixture.ts'

const folder = join(root, 'workers/python')

test('the worker in Python is 150 lines at most, and needs nothing but the standard library', () => {
  const lines = readFileSync(join(folder, 'overwinter_worker.py'), 'utf8').trimEnd().split('\n')
  expect(lines.length).toBeLessThanOrEqual(150)
  // -S: without the packages that happen to be installed.
  const said = execFileSync('python3', ['-S', '-c', 'import overwinter_worker; print("alone")'], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect(said).toBe('alone\n')
})

test('an agent thinks in Python, iteration by iteration, for a workflow in TypeScript', async () => {
  await using server = await serveLocal({
    path: ':memory:',
    workflows: [research],
    port: 0,
    workerToken: TOKEN,
    log: () => {},
  })
  await using _ = new Running('python3', ['agent.py'], {
    cwd: folder,
    env: { OVERWINTER_URL: server.url, OVERWINTER_WORKER_TOKEN: TOKEN },
  })
  const { local } = server
  const { runId } = await local.start(research, { topic: 'hibernation', most: 10 })
  expect(await local.result(runId, { timeout: PATIENCE_MS })).toEqual({
    thoughts: 4,
    report: [
      'hibernation: a long sleep through the cold',
      'torpor: heart and breath slow down',
      'brown fat: burns without shivering',
      'metabolism: what a body does with its fuel',
    ].join('; '),
  })
  expect((await local.history(runId)).find(({ type }) => type === 'task.completed')).toMatchObject({ iteration: 3 })

  const { runId: unknown } = await local.start(research, { topic: 'quarks', most: 10 })
  await expect(local.result(unknown, { timeout: PATIENCE_MS })).rejects.toThrow(RunFailedError)
  await expect(local.result(unknown)).rejects.toThrow("after 1 attempt: Fatal: the library has nothing about 'quarks'")
})
