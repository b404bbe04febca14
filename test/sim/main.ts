import { parseArgs } from 'node:util'
import { simulate } from './simulate.ts'

/** npm run sim -- --seeds 1000 [--from text]; npm run sim -- --seed text shows one in full. */
const { values } = parseArgs({ options: { seeds: { type: 'string', default: '200' }, from: { type: 'string', default: 'seed' }, seed: { type: 'string' } } })
const seeds = values.seed === undefined ? Array.from({ length: Number(values.seeds) }, (_, i) => `${values.from}-${i}`) : [values.seed]

let failed = 0
let frames = 0
for (const seed of seeds) {
  const verdict = await simulate(seed)
  frames += verdict.stats.frames
  if (verdict.failures.length === 0 && values.seed === undefined) continue
  console.log(`${verdict.failures.length === 0 ? 'passed' : 'FAILED'} ${seed}\n${verdict.failures.map((f) => `  ${f}`).join('\n')}`)
  if (values.seed !== undefined) console.log(JSON.stringify({ program: verdict.program, outcome: verdict.outcome, stats: verdict.stats }, null, 1))
  if (verdict.failures.length > 0) failed++
}
console.log(`${seeds.length} seeds, ${failed} failed, ${frames} frames checked. Replay one with: npm run sim -- --seed NAME`)
process.exitCode = failed === 0 ? 0 : 1
