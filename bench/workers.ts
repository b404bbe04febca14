import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OverwinterClient } from '../sdk/http-client/index.ts'
import type { TaskPayload } from '../sdk/tasks/wire.ts'
import { quantiles } from './local.ts'
import { report } from './report.ts'

const TASKS_ONE_BY_ONE = 300
const RUNS = 20
const TASKS_PER_RUN = 100
const WORKERS = 4

/** Workers over HTTP: how soon a poll that waits has the task, and how many tasks go through. fsync is on. */
export async function benchWorkers(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-bench-'))
  const children: ChildProcess[] = []
  const launch = async (role: 'serve' | 'work', argument: string) => {
    const script = new URL('./workers-service.ts', import.meta.url).pathname
    const child = fork(script, [role, argument], { execArgv: ['--conditions=overwinter-source'] })
    children.push(child)
    return (await once(child, 'message'))[0] as { url: string }
  }
  try {
    const { url } = await launch('serve', join(folder, 'runs.db'))
    await measureLatency(url)
    for (let i = 0; i < WORKERS; i++) await launch('work', url)
    await measureThroughput(url)
  } finally {
    for (const child of children) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measureLatency(url: string): Promise<void> {
  const client = new OverwinterClient({ url })
  const sinceDispatch: number[] = []
  const sinceStart: number[] = []
  for (let i = 0; i < TASKS_ONE_BY_ONE; i++) {
    const poll = post<TaskPayload[]>(`${url}/v1/tasks/poll`, {
      task_types: ['waited-for'],
      max_tasks: 1,
      timeout_ms: 60_000,
    })
    // Until it is there and waits.
    await new Promise((resolve) => setTimeout(resolve, 10))
    const started = performance.timeOrigin + performance.now()
    const starting = client.start('one', undefined)
    const [task] = await poll
    const arrived = performance.timeOrigin + performance.now()
    await starting
    await post(`${url}/v1/tasks/${encodeURIComponent(task!.task_id)}/resolve`, {
      action: 'complete',
      attempt: task!.attempt,
    })
    const dispatched = (await client.history(task!.run_id)).find(({ type }) => type === 'task.dispatched')!
    sinceStart.push(arrived - started)
    sinceDispatch.push(arrived - dispatched.at)
  }
  const [dispatch, start] = [quantiles(sinceDispatch), quantiles(sinceStart)]
  const figures = {
    dispatchToPollP50Ms: dispatch.p50,
    dispatchToPollP99Ms: dispatch.p99,
    startToPollP50Ms: start.p50,
    startToPollP99Ms: start.p99,
  }
  report('workers', `${TASKS_ONE_BY_ONE} tasks, each for a poll that waits`, figures, { dispatchToPollP50Ms: 100 })
}

async function measureThroughput(url: string): Promise<void> {
  const client = new OverwinterClient({ url })
  const round = async () => {
    const begun = performance.now()
    const runs = await Promise.all(Array.from({ length: RUNS }, () => client.start('many', TASKS_PER_RUN)))
    await Promise.all(runs.map(({ runId }) => client.result(runId)))
    return (RUNS * TASKS_PER_RUN * 1_000) / (performance.now() - begun)
  }
  await round()
  const rounds = [await round(), await round(), await round()].sort((a, b) => a - b)
  report('workers', `${RUNS * TASKS_PER_RUN} tasks through ${WORKERS} workers`, {
    tasksPerSecond: Math.round(rounds[1]!),
  })
}

async function post<T>(url: string, body: unknown): Promise<T> {
  const headers = { authorization: 'Bearer bench', 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as T
}
