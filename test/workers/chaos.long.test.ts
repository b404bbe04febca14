import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { serveLocal } from '../http/by-the-document.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { TOKEN } from './fixture.ts'
import { KeptAlive, LANGUAGES } from './processes.ts'

const RUNS = 20
const TASKS_EACH = 50
/** Long enough that a kill finds a worker at work. */
const WORK_MS = 250
const KILL_EVERY_MS = 2_000

const squares = workflow('squares', async (ctx, from: number) => {
  const numbers = Array.from({ length: TASKS_EACH }, (_, i) => from + i)
  const options = { heartbeatTimeout: '2s', retry: { attempts: 100 } } as const
  return Promise.all(
    numbers.map((n) => ctx.task<number>('square', { n, ms: WORK_MS }, { name: `square-${n}`, ...options })),
  )
})

test('1,000 tasks over 4 workers, one of them killed every 2 s: every task is done, and each result is journaled once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-chaos-'))
  await using _ = { [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }) }
  await using server = await serveLocal({
    path: join(folder, 'runs.db'),
    workflows: [squares],
    port: 0,
    workerToken: TOKEN,
    log: () => {},
  })
  const { local } = server
  const { typescript, python } = LANGUAGES
  const env = { URL: server.url, TOKEN }
  const workers = [typescript, python, typescript, python].map((launch) => new KeptAlive(() => launch('squares', env)))
  let kills = 0
  const killer = setInterval(() => workers[kills++ % workers.length]!.kill(), KILL_EVERY_MS)
  try {
    const starts = Array.from({ length: RUNS }, (_, i) => local.start(squares, i * TASKS_EACH))
    const runIds = (await Promise.all(starts)).map(({ runId }) => runId)
    const results = await Promise.all(runIds.map((runId) => local.result<number[]>(runId, { timeout: PATIENCE_MS })))
    expect(results.flat()).toEqual(Array.from({ length: RUNS * TASKS_EACH }, (_, n) => n * n))

    const events = (await Promise.all(runIds.map((runId) => local.history(runId)))).flat()
    const completed = events.filter((event) => event.type === 'task.completed')
    expect(completed).toHaveLength(RUNS * TASKS_EACH)
    expect(new Set(completed.map(({ id }) => id)).size).toBe(RUNS * TASKS_EACH)
    expect(events.filter(({ type }) => type === 'task.failed')).toEqual([])
    // The kills found workers at work, and what those had was done by others.
    expect(kills).toBeGreaterThan(3)
    expect(completed.filter(({ attempt = 1 }) => attempt > 1).length).toBeGreaterThan(3)
  } finally {
    clearInterval(killer)
    await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()))
  }
})
