import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { measureThroughput, median, Service, type Throughput } from './local.ts'
import { report } from './report.ts'

/**
 * Overwinter and Restate on the same machine, in turns, in one run: machines are noisy, ratios less so. PEERS names a
 * folder with Restate's driver (restate/run.mjs, its packages installed), which prints one JSON line per measurement.
 */
export async function benchPeers(): Promise<void> {
  const folder = process.env.PEERS
  if (!folder || !existsSync(join(folder, 'restate/node_modules'))) {
    throw new Error('set PEERS to a folder that holds restate/run.mjs with its packages installed')
  }
  const ours: Throughput[] = []
  const theirs: Throughput[] = []
  for (let round = 0; round < 3; round++) {
    const service = await Service.start()
    try {
      ours.push(await measureThroughput(service))
    } finally {
      service.stop()
    }
    theirs.push(measureRestate(folder))
    report('restate', 'three-step runs and sequential steps', { ...theirs.at(-1)! })
  }
  const ratio = (pick: (t: Throughput) => number) =>
    Math.round((median(ours.map(pick)) / median(theirs.map(pick))) * 100) / 100
  report('side by side', 'runs/s against Restate, cold', { times: ratio((t) => t.coldRunsPerSecond) })
  report(
    'side by side',
    'runs/s against Restate, warm',
    { times: ratio((t) => t.runsPerSecond) },
    { times: 5 },
    { atLeast: true },
  )
  report(
    'side by side',
    'sequential steps/s (100) against Restate',
    { times: ratio((t) => t.stepsPerSecond100) },
    { times: 4 },
    { atLeast: true },
  )
  report(
    'side by side',
    'sequential steps/s (1000) against Restate',
    { times: ratio((t) => t.stepsPerSecond1000) },
    { times: 4 },
    { atLeast: true },
  )
  report(
    'side by side',
    'p50 of a three-step run against Restate',
    { share: ratio((t) => t.latencyP50Ms) },
    { share: 0.34 },
  )
}

function measureRestate(folder: string): Throughput {
  const run = mkdtempSync(join(tmpdir(), 'overwinter-peer-'))
  const results = join(run, 'results.jsonl')
  execFileSync(process.execPath, [join(folder, 'restate/run.mjs'), 'seq,lat,conc'], {
    env: { ...process.env, PEERS_RUN: run, RESULTS: results },
    stdio: 'pipe',
  })
  const lines = readFileSync(results, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, never>)
  const find = (name: string) =>
    lines.filter((line) => line.name === name) as unknown as {
      stepsPerSec_p50: number
      ms: { p50: number; p99: number }
      wfPerSec: number
    }[]
  return {
    stepsPerSecond100: Math.round(find('seq100')[0]!.stepsPerSec_p50),
    stepsPerSecond1000: Math.round(find('seq1000')[0]!.stepsPerSec_p50),
    latencyP50Ms: find('lat3')[0]!.ms.p50,
    latencyP99Ms: find('lat3')[0]!.ms.p99,
    coldRunsPerSecond: Math.round(find('conc1000x3')[0]!.wfPerSec),
    runsPerSecond: Math.round(median(find('conc1000x3').map((line) => line.wfPerSec))),
  }
}
