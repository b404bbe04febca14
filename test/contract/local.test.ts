import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { LocalWorld } from '../../sdk/worlds/local/world.ts'
import { worldContract } from './contract.ts'

const START = Date.parse('2026-01-01T00:00:00Z')

worldContract('local, in memory', async () => {
  const clock = new VirtualClock(START)
  const world = new LocalWorld({ path: ':memory:', clock })
  return { world, clock, close: async () => world.close() }
})

worldContract('local, in a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-contract-'))
  const clock = new VirtualClock(START)
  const world = new LocalWorld({ path: join(folder, 'runs.db'), clock })
  return {
    world,
    clock,
    close: async () => {
      world.close()
      rmSync(folder, { recursive: true })
    },
  }
})
