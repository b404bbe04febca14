import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'
import { simulateFlow } from './flow/simulate-flow.ts'
import { simulate, WORLDS, type WorldName } from './simulate.ts'

/**
 * npm run sim -- --seeds 1000 [--from text] [--world aws|local] [--only core|flow]: each world in a process of its own, unless
 * one is named. `core` plays programs of every kind, `flow` limits, queues and pauses; without `--only` each seed plays both.
 * npm run sim -- --seed text [--world aws|local] [--only core|flow] shows one in full.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: 'seed' },
    seed: { type: 'string' },
    world: { type: 'string' },
    only: { type: 'string' },
  },
})
const { seed: single, from } = values
const KINDS = ['core', 'flow'] as const
const world = named(values.world, WORLDS, 'world')
const only = named(values.only, KINDS, 'kind of simulation')

function named<T extends string>(value: string | undefined, known: readonly T[], what: string): T | undefined {
  const found = known.find((name) => name === value)
  if (value !== undefined && !found) throw new Error(`there is no ${what} '${value}'; there are: ${known.join(', ')}`)
  return found
}

interface Played {
  failures: string[]
  frames: number
  longestStandMs?: number
  /** What is shown of a single one. */
  whole: object
}

const PLAY: Record<(typeof KINDS)[number], (seed: string, name: WorldName) => Promise<Played>> = {
  core: async (seed, name) => {
    const { failures, program, outcome, stats } = await simulate(seed, name)
    return { failures, frames: stats.frames, whole: { program, outcome, stats } }
  },
  flow: async (seed, name) => {
    const { failures, scenario, stats } = await simulateFlow(seed, name)
    return { failures, frames: stats.frames, longestStandMs: stats.longestStandMs, whole: { scenario, stats } }
  },
}

async function play(name: WorldName, kind: (typeof KINDS)[number]): Promise<boolean> {
  const seeds = single === undefined ? Array.from({ length: Number(values.seeds) }, (_, i) => `${from}-${i}`) : [single]
  let failed = 0
  let frames = 0
  let longest: { ms: number; seed: string } | undefined
  const begun = performance.now()
  for (const seed of seeds) {
    const { failures, whole, longestStandMs, ...played } = await PLAY[kind](seed, name)
    frames += played.frames
    if (longestStandMs !== undefined && longestStandMs > (longest?.ms ?? -1)) longest = { ms: longestStandMs, seed }
    if (failures.length > 0) failed++
    if (failures.length === 0 && single === undefined) continue
    const said = failures.map((failure) => `  ${failure}`).join('\n')
    console.log(`${failures.length === 0 ? 'passed' : 'FAILED'} on ${name}, ${kind}: ${seed}\n${said}`)
    if (single === undefined)
      console.log(`  Replay it with: npm run sim -- --world ${name} --only ${kind} --seed ${seed}`)
    else console.log(JSON.stringify(whole, null, 1))
  }
  const perSecond = (seeds.length / ((performance.now() - begun) / 1_000)).toFixed(1)
  console.log(
    `${name}, ${kind}: ${seeds.length} seeds, ${failed} failed, ${frames} frames checked, ${perSecond} seeds a second`,
  )
  if (longest)
    console.log(
      `${name}, ${kind}: the longest that something stood without being held back: ${longest.ms} ms, in ${longest.seed}`,
    )
  return failed === 0
}

function playElsewhere(name: WorldName): Promise<boolean> {
  const args = [...process.execArgv, process.argv[1]!, ...process.argv.slice(2), '--world', name]
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  return new Promise((resolve) => child.on('exit', (code) => resolve(code === 0)))
}

async function playHere(name: WorldName): Promise<boolean> {
  let isPassed = true
  for (const kind of only ? [only] : KINDS) isPassed = (await play(name, kind)) && isPassed
  return isPassed
}

const arePassed = world ? [await playHere(world)] : await Promise.all(WORLDS.map(playElsewhere))
process.exitCode = arePassed.every(Boolean) ? 0 : 1
