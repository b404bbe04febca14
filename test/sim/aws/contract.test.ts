import { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'
import { createTableInput, TABLE } from '../../../sdk/worlds/aws/table.ts'
import { AwsWorld } from '../../../sdk/worlds/aws/world.ts'
import { type WorldUnderTest, worldContract } from '../../contract/contract.ts'
import { documentsContract } from '../../contract/documents.ts'
import { TASK_TYPES, tasksContract } from '../../contract/tasks.ts'
import { AwsInMemory } from './aws-in-memory.ts'

const START = Date.parse('2026-01-01T00:00:00Z')

async function inMemory(): Promise<WorldUnderTest> {
  const clock = new VirtualClock(START)
  const aws = new AwsInMemory({ seed: 'contract', clock })
  aws.createTable(createTableInput('runs'), { timeToLive: TABLE.timeToLive })
  const wakes = aws.sqs.createQueue('wakes')
  const network = aws.network('test')
  const world = new AwsWorld({
    table: 'runs',
    bucket: 'payloads',
    queueUrl: wakes.url,
    queueArn: wakes.arn,
    schedulerGroup: 'overwinter',
    schedulerRoleArn: 'arn:aws:iam::000000000000:role/scheduler',
    taskQueues: Object.fromEntries(TASK_TYPES.map((type, i) => [type, aws.sqs.createQueue(`task-${i}`).url])),
    clients: aws.clientsOf(network),
    objects: aws.objectsOf(network),
    clock,
  })
  return { world, clock, close: async () => world.close() }
}

worldContract('aws, in memory', inMemory)
documentsContract('aws, in memory', inMemory)
tasksContract('aws, in memory', inMemory)
