import { type RunStatus, type TaskOptions, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import type { LogSink } from '../../sdk/ports/world.ts'
import { VirtualClock } from '../../sdk/testing/index.ts'
import { createApp } from '../http/by-the-document.ts'
import { type Answer, read } from '../http/fixture.ts'

export interface Asked {
  type?: string
  input?: unknown
  options?: TaskOptions
}

/** Has a worker outside do one thing. */
export const ask = workflow('ask', async (ctx, { type = 'llm', input, options }: Asked) =>
  ctx.task(type, input, options),
)

export const TOKEN = 'a-token-of-the-environment'
const START = Date.parse('2026-01-01T00:00:00Z')

interface Sent {
  token?: string
  key?: string
}

/** One instance of the server under virtual time, and what workers say to it. */
export class WorkerApi {
  readonly local: Local
  readonly clock: VirtualClock
  readonly app: ReturnType<typeof createApp>
  /** Everything that was logged. */
  readonly logs: string[]

  private constructor(local: Local, clock: VirtualClock, logs: string[]) {
    this.local = local
    this.clock = clock
    this.logs = logs
    const log: LogSink = (level, message, fields) => void logs.push(`${level} ${message} ${JSON.stringify(fields)}`)
    this.app = createApp({ client: local, workerToken: TOKEN, log })
  }

  static async open(options: { path?: string; clock?: VirtualClock } = {}): Promise<WorkerApi> {
    const clock = options.clock ?? new VirtualClock(START)
    const logs: string[] = []
    const log: LogSink = (level, message) => void logs.push(`${level} ${message}`)
    return new WorkerApi(
      await Local.open({ path: options.path ?? ':memory:', clock, workflows: [ask], log }),
      clock,
      logs,
    )
  }

  async post(path: string, body: unknown, { token = TOKEN, key }: Sent = {}, signal?: AbortSignal): Promise<Response> {
    const headers = {
      'content-type': 'application/json',
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(key !== undefined && { 'idempotency-key': key }),
    }
    return this.app.request(path, { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) })
  }

  async get(path: string): Promise<Answer> {
    return read(await this.app.request(path))
  }

  /** As a worker asks, field for field; `over` for what is asked otherwise. */
  async poll(over: Record<string, unknown> = {}, sent?: Sent): Promise<Answer> {
    return read(await this.post('/v1/tasks/poll', { task_types: ['llm'], max_tasks: 1, timeout_ms: 0, ...over }, sent))
  }

  async resolve(taskId: string, body: Record<string, unknown>, sent?: Sent): Promise<Answer> {
    return read(await this.post(`/v1/tasks/${encodeURIComponent(taskId)}/resolve`, body, sent))
  }

  /** Until its run waits for the task. */
  async asked(id: string, asked: Asked = {}): Promise<string> {
    await this.local.start(ask, asked, { id })
    await this.reaches(id, 'waiting')
    return `${id}.${asked.type ?? 'llm'}`
  }

  /** Handed out, and taken by a worker. */
  async taken(id: string, asked: Asked = {}): Promise<string> {
    const taskId = await this.asked(id, asked)
    const { body } = await this.poll({ task_types: [asked.type ?? 'llm'] })
    if (body[0]?.task_id !== taskId) throw new Error(`instead of ${taskId} it gave ${JSON.stringify(body)}`)
    return taskId
  }

  async reaches(id: string, status: RunStatus): Promise<void> {
    await until(async () => (await this.local.get(id)).status === status)
  }

  async output(id: string): Promise<unknown> {
    await this.reaches(id, 'completed')
    return (await this.local.get(id)).output
  }

  /** Everything there is to know of a task, to see whether it has changed. */
  async snapshot(taskId: string): Promise<string> {
    return JSON.stringify(await this.local.world.tasks.get(taskId))
  }

  /** Lets time pass, timer by timer. */
  async pass(ms: number): Promise<void> {
    const target = this.clock.now() + ms
    for (let next = this.clock.next(); next !== undefined && next <= target; next = this.clock.next()) {
      this.clock.moveTo(next)
      await turns()
    }
    this.clock.moveTo(target)
    await turns()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.local.close(100)
  }
}

/** Each look lets whatever is under way go on. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve))
}

/** In memory, everything that follows from a timer has happened after a few turns of the event loop. */
async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
}
