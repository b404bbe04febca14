import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '../sdk/client/client.ts'
import { Runner } from '../sdk/runner/runner.ts'
import { type AnyWorkflow, Registry, workflow } from '../sdk/workflow.ts'
import { LocalWorld } from '../sdk/worlds/local/world.ts'
import { report } from './report.ts'

const RUNS = 10_000
const LIMIT = 10
const STEP_MS = 100
/** Callers at once, here and there. */
const CALLERS = 100

/**
 * Many runs behind a limit, in a file with fsync. Where PEERS names a folder with DBOS's packages (dbos/node_modules) and its Postgres listens (DBOS_URL), DBOS's queues
 * do the same beside it, in turns.
 */
export async function benchFlow(): Promise<void> {
  const queued = workflow('queued', { concurrency: { limit: LIMIT } }, (ctx) =>
    ctx.step('work', () => new Promise<void>((resolve) => setTimeout(resolve, STEP_MS))),
  )
  const through = await measure(queued, 'to the end')
  const share = Math.round((through.runsPerSecond / ((LIMIT / STEP_MS) * 1_000)) * 100) / 100
  report(
    'flow',
    `${RUNS} runs on a limit of ${LIMIT}, ${STEP_MS} ms each`,
    { ...through, share },
    { share: 0.9 },
    { atLeast: true },
  )

  const folder = process.env.PEERS
  if (!folder || !existsSync(join(folder, 'dbos/node_modules'))) return
  const ratios: number[] = []
  for (let round = 0; round < 3; round++) {
    const ours = await measure(queued, 'starts')
    const theirs = JSON.parse(
      execFileSync(
        process.execPath,
        [new URL('./dbos-queues.mjs', import.meta.url).pathname, String(RUNS), String(LIMIT), String(CALLERS)],
        {
          cwd: join(folder, 'dbos'),
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'ignore'],
        },
      )
        .trim()
        .split('\n')
        .at(-1)!,
    ) as { startsPerSecond: number }
    ratios.push(ours.startsPerSecond / theirs.startsPerSecond)
    report('flow', 'starts into a queue, beside DBOS', { ours: ours.startsPerSecond, dbos: theirs.startsPerSecond })
  }
  const times = Math.round(ratios.sort((a, b) => a - b)[1]! * 10) / 10
  report('side by side', "queued starts/s against DBOS's queues", { times }, { times: 5 }, { atLeast: true })
}

async function measure(
  queued: AnyWorkflow,
  how: 'to the end' | 'starts',
): Promise<{ startsPerSecond: number; runsPerSecond: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-flow-'))
  const world = new LocalWorld({ path: join(folder, 'runs.db'), log: () => {} })
  const runner = new Runner(world, { workflows: [queued] })
  const client = new Client(world, new Registry([queued]))
  try {
    await runner.start()
    const begun = performance.now()
    let next = 0
    const caller = async () => {
      while (next++ < RUNS) await client.start(queued, undefined)
    }
    await Promise.all(Array.from({ length: CALLERS }, caller))
    const started = performance.now()
    while (how === 'to the end' && ((await client.counts()).completed?.count ?? 0) < RUNS)
      await new Promise((resolve) => setTimeout(resolve, 200))
    const ended = performance.now()
    return {
      startsPerSecond: Math.round((RUNS / (started - begun)) * 1_000),
      runsPerSecond: Math.round((RUNS / (ended - begun)) * 1_000),
    }
  } finally {
    await runner.stop()
    world.close()
    rmSync(folder, { recursive: true })
  }
}
