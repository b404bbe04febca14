import { execFileSync } from 'node:child_process'
import type { Measured, Workload } from './engine-workloads.ts'
import { report } from './report.ts'

/** Engine cost alone: the in-memory world, step bodies that do nothing. CPU time, because wall time is the machine's. */
export async function benchEngine(): Promise<void> {
  for (const n of [1_000, 5_000, 10_000, 20_000]) {
    const { cpuMs, wallMs, frames, replayMs } = best('sequence', n)
    report(
      'engine',
      `${n} sequential steps`,
      { cpuMs, wallMs, frames, cpuPerStepUs: Math.round((cpuMs * 1000) / n) },
      n === 10_000 ? { cpuMs: 500 } : {},
    )
    if (n === 10_000) report('engine', 'replay of that finished run', { wallMs: replayMs }, { wallMs: 100 })
  }
  for (const n of [250, 500, 1_000]) {
    const { cpuMs, wallMs } = best('stepAndSleep', n)
    report(
      'engine',
      `${n} × (step + sleep), full replay at every resume`,
      { cpuMs, wallMs },
      n === 1_000 ? { cpuMs: 1_700 } : {},
    )
  }
  const { frames, cpuMs } = best('parallel', 100)
  report('engine', '100 parallel steps', { frames, cpuMs }, { frames: 3 })
}

/** The best of three processes, since others on the machine can only make it slower. */
function best(workload: Workload, n: number): Measured {
  const script = new URL('./engine-workloads.ts', import.meta.url).pathname
  const once = () =>
    JSON.parse(
      execFileSync(process.execPath, ['--conditions=overwinter-source', '--expose-gc', script, workload, String(n)], {
        encoding: 'utf8',
      }),
    ) as Measured
  return [once(), once(), once()].reduce((least, each) => (each.cpuMs < least.cpuMs ? each : least))
}
