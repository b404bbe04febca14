import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { LocalWorld } from '../../sdk/worlds/local/world.ts'
import { type WorldUnderTest, worldContract } from './contract.ts'
import { documentsContract } from './documents.ts'
import { flowContract } from './flow.ts'
import { tasksContract } from './tasks.ts'

const START = Date.parse('2026-01-01T00:00:00Z')

async function inMemory(): Promise<WorldUnderTest> {
  const clock = new VirtualClock(START)
  const world = new LocalWorld({ path: ':memory:', clock })
  return { world, clock, close: async () => world.close() }
}

async function inAFile(): Promise<WorldUnderTest> {
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
}

worldContract('local, in memory', inMemory)
worldContract('local, in a file', inAFile)
documentsContract('local, in memory', inMemory)
documentsContract('local, in a file', inAFile)
tasksContract('local, in memory', inMemory)
tasksContract('local, in a file', inAFile)
flowContract('local, in memory', inMemory)
flowContract('local, in a file', inAFile)
