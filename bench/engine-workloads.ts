import { workflow } from '../sdk/index.ts'
import { replayHistory, testEnv } from '../sdk/testing/index.ts'

/** One workload in a process of its own, as the peers' drivers do it: `engine-workloads.ts <name> <n>` prints one JSON line. */

const workloads = {
  sequence: workflow('sequence', async (ctx, n: number) => {
    let sum = 0
    for (let i = 0; i < n; i++) sum += await ctx.step(`s${i}`, () => 1)
    return sum
  }),
  parallel: workflow(
    'parallel',
    async (ctx, n: number) =>
      (await Promise.all(Array.from({ length: n }, (_, i) => ctx.step(`s${i}`, async () => i)))).length,
  ),
  stepAndSleep: workflow('step-and-sleep', async (ctx, n: number) => {
    let sum = 0
    for (let i = 0; i < n; i++) {
      sum += await ctx.step(`s${i}`, () => 1)
      await ctx.sleep(`w${i}`, '1h')
    }
    return sum
  }),
}
export type Workload = keyof typeof workloads

export interface Measured {
  cpuMs: number
  wallMs: number
  frames: number
  /** Replaying the finished run once more. */
  replayMs: number
}

async function cpuOf<T>(work: () => Promise<T>): Promise<{ result: T; cpuMs: number; wallMs: number }> {
  globalThis.gc?.()
  const cpu = process.cpuUsage()
  const start = performance.now()
  const result = await work()
  const { user, system } = process.cpuUsage(cpu)
  return { result, cpuMs: Math.round((user + system) / 1000), wallMs: Math.round(performance.now() - start) }
}

async function measure(name: Workload, n: number): Promise<Measured> {
  const target = workloads[name]
  const env = await testEnv({ workflows: [target], tracesCalls: false })
  const {
    result: handle,
    cpuMs,
    wallMs,
  } = await cpuOf(async () => {
    const run = await env.start(target, n)
    await run.result()
    return run
  })
  const history = await handle.history()
  const { wallMs: replayMs } = await cpuOf(() => replayHistory(target, history))
  return { cpuMs, wallMs, frames: (await env.store.frames(handle.runId)).length, replayMs }
}

const [name, n] = process.argv.slice(2) as [Workload, string]
await measure(name, Math.min(100, Number(n)))
console.log(JSON.stringify(await measure(name, Number(n))))
