import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'
import { type WorldUnderTest, worldContract } from '../contract.ts'
import { documentsContract } from '../documents.ts'
import { flowContract } from '../flow.ts'
import { tasksContract } from '../tasks.ts'
import { memoryWorld } from './world.ts'

async function inMaps(): Promise<WorldUnderTest> {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  return { world: memoryWorld(clock), clock, close: async () => {} }
}

worldContract('maps', inMaps)
documentsContract('maps', inMaps)
tasksContract('maps', inMaps)
flowContract('maps', inMaps)

it('a world is a file of primitives: less than 300 lines', () => {
  expect(readFileSync(new URL('./world.ts', import.meta.url), 'utf8').split('\n').length).toBeLessThan(300)
})
