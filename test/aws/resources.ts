import { CreateTableCommand, DeleteTableCommand, ResourceInUseException } from '@aws-sdk/client-dynamodb'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { CreateScheduleGroupCommand } from '@aws-sdk/client-scheduler'
import { CreateQueueCommand, GetQueueAttributesCommand } from '@aws-sdk/client-sqs'
import type { AwsClients } from '../../sdk/worlds/aws/clients.ts'
import { createTableInput } from '../../sdk/worlds/aws/table.ts'
import type { AwsWorldConfig } from '../../sdk/worlds/aws/world.ts'
import { awsClients } from './clients.ts'

type Resources = Pick<
  AwsWorldConfig,
  'table' | 'queueUrl' | 'queueArn' | 'schedulerGroup' | 'schedulerRoleArn' | 'bucket' | 'taskQueues'
>

let serial = 0

/** A table, queues, a schedule group and a bucket that nobody else uses, made without CloudFormation. */
export async function makeResources({
  clients = awsClients(),
  taskTypes = [],
}: {
  clients?: AwsClients
  taskTypes?: string[]
} = {}): Promise<Resources & { remove(): Promise<void> }> {
  const name = `overwinter-${process.pid}-${Date.now().toString(36)}-${++serial}`
  const [, queue] = await Promise.all([
    createTable(clients, name),
    clients.sqs.send(new CreateQueueCommand({ QueueName: name })),
    clients.scheduler.send(new CreateScheduleGroupCommand({ Name: name })),
    new S3Client({ forcePathStyle: true }).send(new CreateBucketCommand({ Bucket: name })),
  ])
  const queueUrl = queue.QueueUrl!
  const { Attributes } = await clients.sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['QueueArn'] }),
  )
  const taskQueues = await Promise.all(
    taskTypes.map(
      async (type, i) =>
        [type, (await clients.sqs.send(new CreateQueueCommand({ QueueName: `${name}-task-${i}` }))).QueueUrl!] as const,
    ),
  )
  return {
    table: name,
    taskQueues: Object.fromEntries(taskQueues),
    queueUrl,
    queueArn: Attributes!.QueueArn!,
    schedulerGroup: name,
    schedulerRoleArn: 'arn:aws:iam::000000000000:role/overwinter-test',
    bucket: name,
    remove: async () => {
      await clients.dynamodb.send(new DeleteTableCommand({ TableName: name }))
    },
  }
}

/** Nobody else uses the name. If there is a table of this name, the SDK has asked again while a stand-in took its time to start. */
async function createTable({ dynamodb }: AwsClients, name: string): Promise<void> {
  await dynamodb.send(new CreateTableCommand(createTableInput(name))).catch((error: Error) => {
    if (!(error instanceof ResourceInUseException)) throw error
  })
}
