import { Stack } from 'aws-cdk-lib'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { IBucket } from 'aws-cdk-lib/aws-s3'
import type { Construct } from 'constructs'
import type { TaskQueues } from './task-queues.ts'
import type { Wakeups } from './wakeups.ts'

/** What each function may do, action by action. A test keeps a snapshot of the result. */

export const allow = (actions: string[], ...resources: string[]): PolicyStatement =>
  new PolicyStatement({ actions, resources })

const db = (...operations: string[]): string[] => operations.map((operation) => `dynamodb:${operation}`)
const index = (table: ITableV2, name: 'due' | 'list'): string => `${table.tableArn}/index/${name}`

export interface Resources {
  table: ITableV2
  bucket: IBucket
  wakeups: Wakeups
  tasks: TaskQueues
}

export function runnerMay({ table, bucket, wakeups, tasks }: Resources): PolicyStatement[] {
  return [
    allow(
      db('GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'Query', 'BatchWriteItem'),
      table.tableArn,
    ),
    // A run that erases, retries or ends other runs has to find them.
    allow(db('Query'), index(table, 'due'), index(table, 'list')),
    ...exchangePayloads(bucket),
    ...removePayloads(bucket),
    ...arm(wakeups),
    ...(tasks.arns.length > 0 ? [allow(['sqs:SendMessage'], ...tasks.arns)] : []),
  ]
}

/** For workers' polls and results: a result may wake its run. */
export function workersMay({ table, bucket, wakeups, tasks }: Resources): PolicyStatement[] {
  return [
    allow(db('GetItem', 'PutItem', 'UpdateItem', 'Query'), table.tableArn),
    ...exchangePayloads(bucket),
    allow(['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:ChangeMessageVisibility', 'sqs:SendMessage'], ...tasks.arns),
    allow(['sqs:SendMessage'], wakeups.queue.queueArn),
  ]
}

/** For holders of a link, who can give one answer to one question. The answer wakes a run. */
export function callbacksMay({ table, bucket, wakeups }: Resources): PolicyStatement[] {
  return [
    allow(db('GetItem', 'PutItem', 'UpdateItem', 'Query'), table.tableArn),
    ...exchangePayloads(bucket),
    allow(['sqs:SendMessage'], wakeups.queue.queueArn),
  ]
}

export function apiMay(resources: Resources): PolicyStatement[] {
  return [...schedulesMay(resources), ...removePayloads(resources.bucket)]
}

/** Everything that the API may do, except erasing. */
export function schedulesMay({ table, bucket, wakeups }: Resources): PolicyStatement[] {
  return [
    allow(
      db('GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'Query', 'BatchWriteItem'),
      table.tableArn,
    ),
    allow(db('Query'), index(table, 'due'), index(table, 'list')),
    ...exchangePayloads(bucket),
    ...arm(wakeups),
  ]
}

/** For events: start, signal, cancel; and bury an event that can never be taken. */
export function eventsMay({ table, bucket, wakeups }: Resources, deadLettersArn: string): PolicyStatement[] {
  return [
    allow(db('GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'Query'), table.tableArn),
    ...exchangePayloads(bucket),
    // If a rate delays a run, the process that starts it arms its wake-up.
    ...arm(wakeups),
    allow(['sqs:SendMessage'], deadLettersArn),
  ]
}

/** It sends overdue runs to the runners, and removes runs past their retention. */
export function sweeperMay({ table, bucket, wakeups }: Resources): PolicyStatement[] {
  return [
    allow(db('Query'), index(table, 'due')),
    allow(db('BatchGetItem', 'UpdateItem', 'DeleteItem', 'Query', 'BatchWriteItem'), table.tableArn),
    allow(['s3:GetObject'], bucket.arnForObjects('*')),
    ...removePayloads(bucket),
    allow(['sqs:SendMessage'], wakeups.queue.queueArn),
  ]
}

export function deadLettersMay({ table }: Resources): PolicyStatement[] {
  return [allow(db('GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'Query'), table.tableArn)]
}

export function lifecycleMay({ table, bucket }: Resources, busArn: string): PolicyStatement[] {
  return [
    allow(db('GetItem'), table.tableArn),
    allow(['s3:GetObject'], bucket.arnForObjects('*')),
    // Without it S3 answers 403 for a missing object, instead of saying that it does not exist.
    allow(['s3:ListBucket'], bucket.bucketArn),
    allow(['events:PutEvents'], busArn),
  ]
}

/** Exactly the named functions. */
export function invoke(scope: Construct, names: string[]): PolicyStatement[] {
  const arnOf = (name: string) =>
    name.startsWith('arn:') ? name : Stack.of(scope).formatArn({ service: 'lambda', resource: `function:${name}` })
  return names.length === 0 ? [] : [allow(['lambda:InvokeFunction'], ...names.map(arnOf))]
}

/** Their names have to be listed first. */
const removePayloads = (bucket: IBucket): PolicyStatement[] => [
  allow(['s3:DeleteObject'], bucket.arnForObjects('*')),
  allow(['s3:ListBucket'], bucket.bucketArn),
]

const exchangePayloads = (bucket: IBucket): PolicyStatement[] => [
  allow(['s3:GetObject', 's3:PutObject'], bucket.arnForObjects('*')),
]

export function schedulesIn({ schedules }: Wakeups): string {
  return Stack.of(schedules).formatArn({
    service: 'scheduler',
    resource: 'schedule',
    resourceName: `${schedules.scheduleGroupName}/*`,
  })
}

/** Short waits are messages, long ones schedules, which need the role that may send. */
function arm(wakeups: Wakeups): PolicyStatement[] {
  const { queue, schedulerRole } = wakeups
  return [
    allow(['sqs:SendMessage'], queue.queueArn),
    allow(['scheduler:CreateSchedule', 'scheduler:DeleteSchedule'], schedulesIn(wakeups)),
    new PolicyStatement({
      actions: ['iam:PassRole'],
      resources: [schedulerRole.roleArn],
      conditions: { StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } },
    }),
  ]
}
