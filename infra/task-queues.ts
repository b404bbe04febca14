import { createHash } from 'node:crypto'
import { Duration } from 'aws-cdk-lib'
import { type Grant, Grant as Grants, type IGrantable } from 'aws-cdk-lib/aws-iam'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { queueEncryption } from './encryption.ts'
import type { OverwinterProps } from './options.ts'

/** How long a worker that reads a queue directly has, unless it says otherwise; the default of `heartbeatTimeout`. */
const VISIBILITY = Duration.minutes(5)

/**
 * One queue per type of task, which workers poll. Messages are only hints, so a message that expires loses
 * nothing.
 */
export class TaskQueues extends Construct {
  readonly queues: ReadonlyMap<string, Queue>

  constructor(scope: Construct, { taskTypes = [], kmsKey }: OverwinterProps) {
    super(scope, 'Tasks')
    const create = (type: string) =>
      new Queue(this, idOf(type), {
        ...queueEncryption(kmsKey),
        enforceSSL: true,
        retentionPeriod: Duration.days(14),
        visibilityTimeout: VISIBILITY,
      })
    this.queues = new Map([...new Set(taskTypes)].map((type) => [type, create(type)]))
  }

  get arns(): string[] {
    return [...this.queues.values()].map(({ queueArn }) => queueArn)
  }

  get names(): [type: string, queueName: string][] {
    return [...this.queues].map(([type, { queueName }]) => [type, queueName])
  }

  /** For workers that read the queue themselves. */
  grantReceive(type: string, grantee: IGrantable): Grant {
    const queue = this.queues.get(type)
    if (!queue) throw new Error(`'${type}' is not among the taskTypes: ${[...this.queues.keys()].join(', ') || 'none'}`)
    const actions = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:ChangeMessageVisibility', 'sqs:GetQueueAttributes']
    return Grants.addToPrincipal({ grantee, actions, resourceArns: [queue.queueArn] })
  }
}

/** A type may contain any characters, and two types must not get the same id. */
function idOf(type: string): string {
  return `${type.replaceAll(/[^A-Za-z0-9]/g, '')}${createHash('sha256').update(type).digest('hex').slice(0, 8)}`
}
