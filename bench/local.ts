import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { report } from './report.ts'

/** The local world over HTTP, fsync on: what a caller sees from outside the process. */
export async function benchLocal(): Promise<void> {
  const service = await Service.start()
  try {
    await measureThroughput(service)
    const late = await wakeTogether(service, 1_000)
    report(
      'local',
      '1000 sleepers due at once',
      { lateP50Ms: late.p50, lateP99Ms: late.p99, earliestMs: late.min },
      { lateP99Ms: 250 },
    )
  } finally {
    service.stop()
  }
  await measureSleepers()
}

export interface Throughput {
  stepsPerSecond100: number
  stepsPerSecond1000: number
  latencyP50Ms: number
  latencyP99Ms: number
  /** The first thousand at once, connections included; and warm: the median of three rounds of a thousand, as of the peers. */
  coldRunsPerSecond: number
  runsPerSecond: number
}

export async function measureThroughput(service: Service): Promise<Throughput> {
  await service.run('steps', 50)
  for (let i = 0; i < 30; i++) await service.run('steps', 3)
  const perSecond = async (n: number, times: number) => {
    const ms = await repeat(times, () => service.run('steps', n))
    return Math.round(n / (quantiles(ms).p50 / 1000))
  }
  // In the order of the peers' drivers, so that everybody is equally warm.
  const stepsPerSecond100 = await perSecond(100, 10)
  const stepsPerSecond1000 = await perSecond(1_000, 5)
  const latency = quantiles(await repeat(300, () => service.run('steps', 3)))
  const rounds: number[] = []
  for (let round = 0; round < UNCOUNTED + 3; round++) {
    const start = performance.now()
    await pool(1_000, 1_000, () => service.run('steps', 3))
    rounds.push(1_000_000 / (performance.now() - start))
  }
  const figures = {
    stepsPerSecond100,
    stepsPerSecond1000,
    latencyP50Ms: latency.p50,
    latencyP99Ms: latency.p99,
    coldRunsPerSecond: Math.round(rounds[0]!),
    runsPerSecond: Math.round(median(rounds.slice(UNCOUNTED))),
  }
  report('local', 'three-step runs and sequential steps', figures)
  return figures
}

export async function wakeTogether(service: Service, count: number) {
  await service.ask('reset')
  const due = Math.ceil((Date.now() + 8_000) / 1000) * 1000
  await pool(count, 64, () => service.start('sleeper', due))
  while ((await service.ask('stats')).done < count) await new Promise((resolve) => setTimeout(resolve, 50))
  return quantiles((await service.ask('lateness')).lateness)
}

/** What a sleeping run costs: memory of the process, bytes on disk. */
async function measureSleepers(): Promise<void> {
  const service = await Service.start()
  try {
    const due = Date.now() + 86_400_000
    const sleep = (count: number) => pool(count, 64, () => service.start('sleeper', due))
    await sleep(2_000)
    await service.settle()
    const before = { ...(await service.ask('gc')), disk: service.diskBytes() }
    const rss: number[] = []
    let heapMb = 0
    for (let i = 0; i < 4; i++) {
      await sleep(25_000)
      await service.settle()
      const after = await service.ask('gc')
      rss.push(after.rssMb)
      heapMb = after.heapMb
    }
    const each = (mb: number) => Math.round((mb * 2 ** 20) / 100_000)
    const figures = {
      heapBytesEach: each(heapMb - before.heapMb),
      diskBytesEach: Math.round((service.diskBytes() - before.disk) / 100_000),
      rssBeforeMb: Math.round(before.rssMb),
      rssAfterMb: rss.map(Math.round).join('/'),
    }
    // 16 bytes in 100,000 times are a megabyte and a half: the noise of a heap.
    report('local', '100000 sleeping runs', figures, { heapBytesEach: 16, diskBytesEach: 1_024 })
  } finally {
    service.stop()
  }
}

/** The process under test and a caller of its API. */
export class Service {
  private readonly child: ChildProcess
  private readonly folder: string
  private readonly url: URL
  private readonly agent = new http.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

  private constructor(child: ChildProcess, folder: string, url: string) {
    this.child = child
    this.folder = folder
    this.url = new URL(url)
  }

  static async start(): Promise<Service> {
    const folder = mkdtempSync(join(tmpdir(), 'overwinter-bench-'))
    const script = new URL('./local-service.ts', import.meta.url).pathname
    const child = fork(script, [join(folder, 'runs.db')], {
      execArgv: ['--conditions=overwinter-source', '--expose-gc'],
    })
    const [{ url }] = (await once(child, 'message')) as [{ url: string }]
    return new Service(child, folder, url)
  }

  /** Starts a run and waits for its end. */
  run(workflow: string, input: unknown): Promise<unknown> {
    return this.post(`/workflows/${workflow}/runs?wait=20s`, { input })
  }

  start(workflow: string, input: unknown): Promise<unknown> {
    return this.post(`/workflows/${workflow}/runs`, { input })
  }

  async ask(
    question: 'stats' | 'lateness' | 'gc' | 'reset',
  ): Promise<{ lateness: number[]; done: number; rssMb: number; heapMb: number }> {
    this.child.send(question)
    const [answer] = (await once(this.child, 'message')) as [
      { lateness: number[]; done: number; rssMb: number; heapMb: number },
    ]
    return answer
  }

  /** A run that starts and ends now has overtaken nothing: when it is done, so are the starts before it. */
  async settle(): Promise<void> {
    await this.run('steps', 1)
    await this.run('steps', 1)
  }

  /** Without the log, which has the same length whatever is in it. */
  diskBytes(): number {
    const file = join(this.folder, 'runs.db')
    const db = new DatabaseSync(file, { timeout: 5_000 })
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    return statSync(file).size
  }

  stop(): void {
    this.child.kill('SIGKILL')
    this.agent.destroy()
    rmSync(this.folder, { recursive: true, force: true })
  }

  private post(path: string, body: unknown): Promise<unknown> {
    const data = JSON.stringify(body)
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(data) }
      const request = http.request(
        { host: this.url.hostname, port: this.url.port, path, method: 'POST', agent: this.agent, headers },
        (response) => {
          let text = ''
          response.on('data', (chunk) => (text += chunk))
          response.on('end', () => (response.statusCode! < 300 ? resolve(JSON.parse(text)) : reject(new Error(text))))
        },
      )
      request.on('error', reject)
      request.end(data)
    })
  }
}

/** So many rounds it takes until everything that runs often is compiled. The peer's figures do not change with its rounds. */
const UNCOUNTED = 3

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

async function repeat(times: number, work: () => Promise<unknown>): Promise<number[]> {
  const ms: number[] = []
  for (let i = 0; i < times; i++) {
    const start = performance.now()
    await work()
    ms.push(performance.now() - start)
  }
  return ms
}

async function pool(count: number, concurrency: number, work: () => Promise<unknown>): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next++ < count) await work()
  }
  await Promise.all(Array.from({ length: Math.min(count, concurrency) }, lane))
}

export function quantiles(values: number[]): { min: number; p50: number; p99: number; max: number } {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (q: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]! * 100) / 100
  return { min: at(0), p50: at(0.5), p99: at(0.99), max: at(1) }
}
