import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'
import { simulate, WORLDS, type WorldName } from './simulate.ts'

/**
 * npm run sim -- --seeds 1000 [--from text] [--world aws|local]: each world in a process of its own, unless one is named.
 * npm run sim -- --seed text [--world aws|local] shows one in full.
 */
const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '200' }, from: { type: 'string', default: 'seed' }, seed: { type: 'string' }, world: { type: 'string' } },
})
const { seed: single, from } = values
const world = WORLDS.find((name) => name === values.world)
if (values.world !== undefined && !world) throw new Error(`there is no world '${values.world}' to simulate; there are: ${WORLDS.join(', ')}`)

async function play(name: WorldName): Promise<boolean> {
  const seeds = single === undefined ? Array.from({ length: Number(values.seeds) }, (_, i) => `${from}-${i}`) : [single]
  let failed = 0
  let frames = 0
  for (const seed of seeds) {
    const { failures, program, outcome, stats } = await simulate(seed, name)
    frames += stats.frames
    if (failures.length > 0) failed++
    if (failures.length === 0 && single === undefined) continue
    console.log(`${failures.length === 0 ? 'passed' : 'FAILED'} on ${name}: ${seed}\n${failures.map((failure) => `  ${failure}`).join('\n')}`)
    if (single === undefined) console.log(`  Replay it with: npm run sim -- --world ${name} --seed ${seed}`)
    else console.log(JSON.stringify({ program, outcome, stats }, null, 1))
  }
  console.log(`${name}: ${seeds.length} seeds, ${failed} failed, ${frames} frames checked`)
  return failed === 0
}

function playElsewhere(name: WorldName): Promise<boolean> {
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...process.argv.slice(2), '--world', name], { stdio: 'inherit' })
  return new Promise((resolve) => child.on('exit', (code) => resolve(code === 0)))
}

const arePassed = world ? [await play(world)] : await Promise.all(WORLDS.map(playElsewhere))
process.exitCode = arePassed.every(Boolean) ? 0 : 1
