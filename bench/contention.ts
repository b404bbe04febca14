import { SeededRandom } from '../sdk/base/random.ts'
import { Client } from '../sdk/client/client.ts'
import type { Context } from '../sdk/context.ts'
import { runOnce } from '../sdk/engine/run-loop.ts'
import { limit } from '../sdk/flow/limiter/limit.ts'
import { VirtualClock } from '../sdk/testing/virtual-clock.ts'
import { type AnyWorkflow, Registry, workflow } from '../sdk/workflow.ts'
import { createTableInput, TABLE } from '../sdk/worlds/aws/table.ts'
import { readWake } from '../sdk/worlds/aws/wake-message.ts'
import { AwsWorld } from '../sdk/worlds/aws/world.ts'
import { AwsInMemory } from '../test/sim/aws/aws-in-memory.ts'
import { report } from './report.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const ARRIVE_WITHIN_MS = 1_000
/** Each slot serves so many, so that the last round, in which slots stand empty, counts for little. */
const ROUNDS = 30
const SHORT_ROUNDS = 5
const MEAN_MS = 500
const SWEEP_MS = 60_000

interface Load {
  kind: 'run' | 'step'
  runs: number
  runners: number
  concurrency: number
}

/**
 * Many runners at one limit, on AWS in memory with calls of 4 to 12 ms: what is refused, and how much of the time slots are
 * in use. The ideal is a broker that knows everything at once and costs nothing; with few rounds it cannot reach 1 either.
 */
export async function benchContention(): Promise<void> {
  for (const kind of ['run', 'step'] as const)
    for (const [concurrency, runners] of [
      [10, 20],
      [20, 60],
      [50, 120],
      [100, 120],
      // Each run with a limited step takes two visits, so 120 runners are the bottleneck there, not the limit.
      [100, 200],
    ] as const)
      for (const rounds of [ROUNDS, SHORT_ROUNDS]) {
        const load: Load = { kind, runs: concurrency * rounds, runners, concurrency }
        const { refusedWrites, share, calls, most } = await contend(load)
        const ofIdeal = round(share / idealShare(load))
        const name = `${load.runs} ${kind}s on a limit of ${concurrency}, ${runners} runners, 250 to 750 ms`
        report('contention', name, { refusedWrites, calls, most }, { refusedWrites: 2 })
        const goal: Record<string, number> = rounds === ROUNDS ? { share: 0.8 } : {}
        report('contention', `${name}: use of the slots`, { share, ofIdeal }, goal, { atLeast: true })
      }
}

const lengthOf = (random: SeededRandom) => MEAN_MS / 2 + Math.floor(random.next() * MEAN_MS)
const arrivalOf = (i: number, runs: number) => Math.floor((i / runs) * ARRIVE_WITHIN_MS)
const round = (x: number) => Math.round(x * 100) / 100

/** How much of the slots' time a broker uses that gives a free slot away at once. */
function idealShare({ runs, concurrency }: Load): number {
  const random = new SeededRandom('lengths')
  const free = new Array<number>(concurrency).fill(0)
  let busy = 0
  for (let i = 0; i < runs; i++) {
    const first = free.indexOf(Math.min(...free))
    const ms = lengthOf(random)
    free[first] = Math.max(free[first]!, arrivalOf(i, runs)) + ms
    busy += ms
  }
  return busy / concurrency / Math.max(...free)
}

async function contend({ kind, runs, runners, concurrency }: Load) {
  const clock = new VirtualClock(START)
  const aws = new AwsInMemory({ seed: 'contention', clock, lifecycle: [] })
  const table = aws.createTable(createTableInput('runs'), { timeToLive: TABLE.timeToLive })
  const wakes = aws.sqs.createQueue('wakes', { visibilityTimeoutS: 180 })
  const lengths = new SeededRandom('lengths')
  const delays = new SeededRandom('delays')
  const seen = { busy: 0, inside: 0, most: 0, last: START, calls: 0 }
  const body = async () => {
    const ms = lengthOf(lengths)
    seen.most = Math.max(seen.most, ++seen.inside)
    await new Promise<void>((resolve) => clock.at(clock.now() + ms, resolve))
    seen.inside--
    seen.busy += ms
    seen.last = clock.now()
  }
  const flow = limited(kind, concurrency, body)
  const registry = new Registry([flow])
  const someMs = () => 2 + Math.floor(delays.next() * 5)
  const open = (process: string) => {
    const network = aws.network(process, ({ service }) => {
      if (service === 'dynamodb') seen.calls++
      return { outcome: 'done', thereMs: someMs(), backMs: someMs() }
    })
    const places = { table: 'runs', bucket: 'payloads', queueUrl: wakes.url, queueArn: wakes.arn, schedulerGroup: 'g' }
    const clients = aws.clientsOf(network)
    const objects = aws.objectsOf(network)
    const schedulerRoleArn = 'arn:aws:iam::000000000000:role/scheduler'
    return new AwsWorld({ ...places, schedulerRoleArn, taskQueues: {}, clients, objects, clock, log: () => {} })
  }
  const idle: AwsWorld[] = []
  let made = 0
  const take = async (body: string) => {
    const world = idle.pop() ?? open(`runner ${++made}`)
    const wake = readWake(body)
    const options = { lease: { owner: 'runner', ms: 30_000 }, deadline: clock.now() + 60_000 }
    if (await world.wakeups.isDue(wake)) await runOnce(world, registry, wake.runId, options)
    idle.push(world)
  }
  aws.eventSource(wakes, {
    batchSize: 1,
    maxConcurrency: runners,
    timeoutMs: 60_000,
    handler: async ([message]) => {
      await take(message!.body)
      return []
    },
  })
  const sweeper = open('sweeper')
  const sweep = () => {
    void sweeper.sweep(1_000)
    clock.at(clock.now() + SWEEP_MS, sweep)
  }
  clock.at(START + SWEEP_MS, sweep)
  const api = new Client(open('api'), registry)
  for (let i = 0; i < runs; i++)
    clock.at(START + arrivalOf(i, runs), () => void api.start(flow, undefined, { id: `run-${i}` }))
  const hasEnded = () =>
    [...table.items()].filter(({ item }) => item.sk?.S === 'RUN' && item.endedAt !== undefined).length === runs
  for (let moments = 1; moments % 2_000 !== 0 || !hasEnded(); moments++) {
    // What the products do in between takes no time: it is all on microtasks.
    await new Promise<void>((resolve) => setImmediate(resolve))
    clock.moveTo(clock.next()!)
  }
  const share = round(seen.busy / concurrency / (seen.last - START))
  const refusedWrites = round(aws.dynamodb.refusedWrites / runs)
  return { refusedWrites, share, calls: round(seen.calls / runs), most: seen.most }
}

function limited(kind: Load['kind'], concurrency: number, body: () => Promise<void>): AnyWorkflow {
  if (kind === 'run')
    return workflow('limited', { concurrency: { limit: concurrency } }, (ctx: Context) => ctx.step('s', body))
  const slots = limit(`contended-${concurrency}-${performance.now()}`, { concurrency })
  return workflow('limited', (ctx: Context) => ctx.step('s', body, { limit: slots }))
}
