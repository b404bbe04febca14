import { withCodec } from '../../sdk/codec/with-codec.ts'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { LocalWorld } from '../../sdk/worlds/local/world.ts'
import { type WorldUnderTest, worldContract } from '../contract/contract.ts'
import { flowContract } from '../contract/flow.ts'
import { tasksContract } from '../contract/tasks.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'
import { shroud } from './shroud.ts'

async function local(): Promise<WorldUnderTest> {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  const world = new LocalWorld({ path: ':memory:', clock })
  return { world: withCodec(world, shroud().codec), clock, close: async () => world.close() }
}

worldContract('local, with a codec', local)
tasksContract('local, with a codec', local)
flowContract('local, with a codec', local)
worldContract('AWS in memory, with a codec', async () => {
  const { world, clock } = openAwsInMemory({ seed: 'codec' })
  return { world: withCodec(world, shroud().codec), clock, close: async () => world.close() }
})
