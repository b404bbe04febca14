import { DeleteMessageCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import type { AwsClients } from '../sdk/worlds/aws/clients.ts'
import { readWake } from '../sdk/worlds/aws/wake-message.ts'
import { AwsWorld } from '../sdk/worlds/aws/world.ts'
import { awsClients } from '../test/aws/clients.ts'
import { startStack } from '../test/aws/ministack.ts'
import { makeResources } from '../test/aws/resources.ts'
import { quantiles } from './local.ts'
import { report } from './report.ts'

const COUNT = 100
/** EventBridge Scheduler promises a minute, no more. */
const LATE_SECONDS = 60
/** As deployed, but for what counts as long: nobody waits a quarter of an hour for a figure. */
const THRESHOLDS = { longWaitMs: 61_000, leadMs: 60_000 }
const FIRST_MS = 64_000
const APART_MS = 37
/** As Lambda polls a queue: several at a time. */
const POLLERS = 10

/** How late wake-ups are on AWS's stand-in when every schedule fires 0 to 59 seconds after the time it was given. */
export async function benchWakeups(): Promise<void> {
  const stack = await startStack()
  try {
    const { min, p50, p99 } = quantiles(await latenesses())
    report('wake-ups', `${COUNT} over a scheduler that is up to a minute late, ms`, { p50, p99 }, { p99: 1_000 })
    report('wake-ups', 'none of them early', { min }, { min: 0 }, { atLeast: true })
  } finally {
    await stack.stop()
  }
}

async function latenesses(): Promise<number[]> {
  const clients = awsClients()
  delaySchedules(clients)
  const resources = await makeResources()
  const { wakeups } = new AwsWorld({ ...resources, clients, thresholds: THRESHOLDS })
  const first = Date.now() + FIRST_MS
  await wakeups.send(Array.from({ length: COUNT }, (_, i) => ({ runId: `late-${i}`, at: first + i * APART_MS })))
  const lateness: number[] = []
  const { sqs } = clients
  const QueueUrl = resources.queueUrl
  const poll = async () => {
    while (lateness.length < COUNT) {
      const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }))
      await Promise.all(
        Messages.map(async ({ Body, ReceiptHandle }) => {
          await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }))
          const wake = readWake(Body!)
          if (await wakeups.isDue(wake)) lateness.push(Date.now() - wake.at)
        }),
      )
      if (Messages.length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  await Promise.all(Array.from({ length: POLLERS }, poll))
  return lateness
}

function delaySchedules({ scheduler }: AwsClients): void {
  scheduler.middlewareStack.add(
    (next) => (args) => {
      const input = args.input as { ScheduleExpression?: string }
      const at = /^at\((.*)\)$/.exec(input.ScheduleExpression ?? '')?.[1]
      if (at)
        input.ScheduleExpression = `at(${new Date(Date.parse(`${at}Z`) + Math.floor(Math.random() * LATE_SECONDS) * 1_000).toISOString().slice(0, 19)})`
      return next(args)
    },
    { step: 'initialize', name: 'lateScheduler' },
  )
}
