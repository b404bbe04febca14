import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { LONG_TEST_MS } from '../outside/patience.ts'
import { MUTANTS } from './mutants.ts'
import { simulate, WORLDS, type WorldName } from './simulate.ts'

const failedOnce = JSON.parse(readFileSync(new URL('./failed-seeds.json', import.meta.url), 'utf8')) as { world: WorldName; seed: string }[]
/** The same seeds every time, so that a change is judged by what it changes; SIM_SEED tries others, and `npm run sim` many more. */
const family = process.env.SIM_SEED ?? 'suite'
const BUDGET = Number(process.env.SIM_BUDGET ?? 80)

describe.each(WORLDS)('the simulator, on the %s world,', (world) => {
  it(
    `finds nothing wrong in ${BUDGET} seeds (${family}-0 …)`,
    async () => {
      for (let i = 0; i < BUDGET; i++) {
        const { seed, failures } = await simulate(`${family}-${i}`, world)
        expect(failures, `replay it with: npm run sim -- --world ${world} --seed ${seed}, and add it to failed-seeds.json`).toEqual([])
      }
    },
    LONG_TEST_MS,
  )

  it('does exactly the same with the same seed', async () => {
    for (const seed of ['same-1', 'same-2', 'same-3', 'same-4', 'same-5']) expect(await simulate(seed, world)).toEqual(await simulate(seed, world))
  }, 60_000)

  it.each(Object.entries(MUTANTS).filter(([, { found }]) => found.includes(world)))(
    'finds the planted bug "%s" within 200 seeds',
    async (_name, mutant) => {
      let found: string | undefined
      for (let i = 0; i < 200 && !found; i++) found = (await simulate(`mutant-${i}`, world, mutant)).failures[0]
      expect(found).toBeTruthy()
    },
    LONG_TEST_MS,
  )
})

describe('the simulator', () => {
  it('finds nothing wrong in the seeds that once failed', async () => {
    for (const { world, seed } of failedOnce) expect((await simulate(seed, world)).failures, `${world} ${seed}`).toEqual([])
  }, 120_000)
})
