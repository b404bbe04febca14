import { onTestFinished } from 'vitest'
import { SeededRandom } from '../../sdk/base/random.ts'
import { Client } from '../../sdk/client/client.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import type { RunnerOptions } from '../../sdk/engine/visit.ts'
import { type AnyWorkflow, Registry } from '../../sdk/index.ts'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { createTableInput, TABLE } from '../../sdk/worlds/aws/table.ts'
import { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { AwsInMemory } from '../sim/aws/aws-in-memory.ts'

/** Processes that talk to one table, each call taking its time: so what they do at once is interleaved. Time passes by itself. */
export function slowCloud(workflows: readonly AnyWorkflow[], seed = 'slow') {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  const aws = new AwsInMemory({ seed, clock, lifecycle: [] })
  const table = aws.createTable(createTableInput('runs'), { timeToLive: TABLE.timeToLive })
  const { url: queueUrl, arn: queueArn } = aws.sqs.createQueue('wakes')
  const random = new SeededRandom(seed)
  const some = () => 1 + Math.floor(random.next() * 20)
  const passTime = () => {
    const next = clock.next()
    if (next !== undefined) clock.moveTo(next)
    passing = setImmediate(passTime)
  }
  let passing = setImmediate(passTime)
  const stop = () => clearImmediate(passing)
  onTestFinished(stop)
  const registry = new Registry([...workflows])
  const writes = { count: 0 }
  const calls = { count: 0 }
  let processes = 0
  /** Another process. `dies`: whether it does right after this call, the nth it makes. `delays`: how long that call takes to arrive. */
  const open = (dies: (nth: number) => boolean = () => false, delays: (nth: number) => number = () => 0) => {
    let made = 0
    const network = aws.network(`process ${++processes}`, ({ command, service }) => {
      if (service === 'dynamodb') calls.count++
      if (/Update|Put|Delete/.test(command)) writes.count++
      return { outcome: dies(++made) ? 'dies after' : 'done', thereMs: some() + delays(made), backMs: some() }
    })
    const places = {
      table: 'runs',
      bucket: 'payloads',
      queueUrl,
      queueArn,
      schedulerGroup: 'overwinter',
      schedulerRoleArn: 'arn:aws:iam::000000000000:role/scheduler',
    }
    const world = new AwsWorld({
      ...places,
      taskQueues: {},
      clients: aws.clientsOf(network),
      objects: aws.objectsOf(network),
      clock,
      log: () => {},
    })
    return new Client(world, registry)
  }
  /** As far as it goes now. */
  const take = (
    client: Client,
    runId: string,
    { workflows = registry, ...more }: Partial<RunnerOptions> & { workflows?: Registry } = {},
  ) => runOnce(client.world, workflows, runId, { lease: { owner: 'runner', ms: 30_000 }, ...more })
  const wait = (ms: number) => new Promise<void>((resolve) => clock.at(clock.now() + ms, resolve))
  return { open, take, wait, clock, random, writes, calls, aws, table, stop }
}
