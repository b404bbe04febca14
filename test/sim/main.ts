import { parseArgs } from 'node:util'
import { simulate, WORLDS, type WorldName } from './simulate.ts'

/** npm run sim -- --seeds 1000 [--from text] [--world aws|local]; npm run sim -- --seed text shows one in full. */
const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '200' }, from: { type: 'string', default: 'seed' }, seed: { type: 'string' }, world: { type: 'string' } },
})
const worlds = values.world === undefined ? WORLDS : WORLDS.filter((world) => world === values.world)
const seeds = values.seed === undefined ? Array.from({ length: Number(values.seeds) }, (_, i) => `${values.from}-${i}`) : [values.seed]

async function run(world: WorldName): Promise<number> {
  let failed = 0
  let frames = 0
  for (const seed of seeds) {
    const verdict = await simulate(seed, world)
    frames += verdict.stats.frames
    if (verdict.failures.length === 0 && values.seed === undefined) continue
    console.log(`${verdict.failures.length === 0 ? 'passed' : 'FAILED'} ${world} ${seed}\n${verdict.failures.map((f) => `  ${f}`).join('\n')}`)
    if (values.seed !== undefined) console.log(JSON.stringify({ program: verdict.program, outcome: verdict.outcome, stats: verdict.stats }, null, 1))
    else console.log(`  Replay it with: npm run sim -- --world ${world} --seed ${seed}`)
    if (verdict.failures.length > 0) failed++
  }
  console.log(`${world}: ${seeds.length} seeds, ${failed} failed, ${frames} frames checked.`)
  return failed
}

let failed = 0
for (const world of worlds) failed += await run(world)
process.exitCode = failed === 0 ? 0 : 1
