import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { ScheduleGroup } from 'aws-cdk-lib/aws-scheduler'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { grantKey, queueEncryption } from './encryption.ts'
import type { OverwinterProps } from './options.ts'
import { allow } from './permissions.ts'

const DEFAULT_ATTEMPTS = 5
/** Short, because SQS delivers the message of a leased run again after six times this long. */
export const DEAD_LETTERS_TIMEOUT = Duration.seconds(10)

/** The queue of the runners, its dead-letter queue, and the role of schedules, which also send to it. */
export class Wakeups extends Construct {
  readonly queue: Queue
  readonly deadLetters: Queue
  readonly schedules: ScheduleGroup
  readonly schedulerRole: Role

  constructor(scope: Construct, { kmsKey, maxAttempts = DEFAULT_ATTEMPTS }: OverwinterProps, runnerTimeout: Duration) {
    super(scope, 'Wakeups')
    const encryption = queueEncryption(kmsKey)
    this.deadLetters = new Queue(this, 'DeadLetters', {
      ...encryption,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
      visibilityTimeout: Duration.seconds(6 * DEAD_LETTERS_TIMEOUT.toSeconds()),
    })
    this.queue = new Queue(this, 'Queue', {
      ...encryption,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
      // AWS's own advice: Lambda may hold a message through several throttled attempts.
      visibilityTimeout: Duration.seconds(6 * runnerTimeout.toSeconds()),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: maxAttempts },
    })
    // Remaining schedules belong to runs that no runner can wake once the stack is deleted.
    this.schedules = new ScheduleGroup(this, 'Schedules', { removalPolicy: RemovalPolicy.DESTROY })
    this.schedulerRole = new Role(this, 'SchedulerRole', {
      description: 'Lets the schedules of sleeping runs send to the queue of the runners, and nothing else',
      // Only our schedules may assume this role.
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: {
          StringEquals: {
            'aws:SourceAccount': Stack.of(this).account,
            'aws:SourceArn': this.schedules.scheduleGroupArn,
          },
        },
      }),
    })
    this.schedulerRole.addToPolicy(allow(['sqs:SendMessage'], this.queue.queueArn))
    grantKey(kmsKey, this.schedulerRole, 'send')
  }
}
