import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { worldContract } from '../contract/contract.ts'
import { makeResources } from './resources.ts'

worldContract('aws', async () => {
  const resources = await makeResources()
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  const world = new AwsWorld({ ...resources, clock })
  return {
    world,
    clock,
    close: async () => {
      await resources.remove()
      world.close()
    },
  }
})
