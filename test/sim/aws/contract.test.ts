import { takeSentBy, type WorldUnderTest, worldContract } from '../../contract/contract.ts'
import { documentsContract } from '../../contract/documents.ts'
import { flowContract } from '../../contract/flow.ts'
import { TASK_TYPES, tasksContract } from '../../contract/tasks.ts'
import { openAwsInMemory } from './open-world.ts'

async function inMemory(): Promise<WorldUnderTest> {
  const { world, clock } = openAwsInMemory({ seed: 'contract', taskTypes: TASK_TYPES })
  return { world, clock, takeSent: takeSentBy(world.wakeups), close: async () => world.close() }
}

worldContract('aws, in memory', inMemory)
documentsContract('aws, in memory', inMemory)
tasksContract('aws, in memory', inMemory)
flowContract('aws, in memory', inMemory)
