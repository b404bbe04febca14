import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { takeSentBy, type WorldUnderTest, worldContract } from '../contract/contract.ts'
import { documentsContract } from '../contract/documents.ts'
import { flowContract } from '../contract/flow.ts'
import { TASK_TYPES, tasksContract } from '../contract/tasks.ts'
import { makeResources } from './resources.ts'

async function onAws(): Promise<WorldUnderTest> {
  const resources = await makeResources({ taskTypes: TASK_TYPES })
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  const world = new AwsWorld({ ...resources, clock })
  return {
    world,
    clock,
    takeSent: takeSentBy(world.wakeups),
    close: async () => {
      await resources.remove()
      world.close()
    },
  }
}

worldContract('aws', onAws)
documentsContract('aws', onAws)
tasksContract('aws', onAws)
flowContract('aws', onAws)
