import { unmarshall } from '@aws-sdk/util-dynamodb'
import type { JournalEvent } from '../../sdk/base/events.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import type { World } from '../../sdk/ports/world.ts'
import { seededIds, VirtualClock } from '../../sdk/testing/index.ts'
import { Registry } from '../../sdk/workflow.ts'
import type { FrameItem } from '../../sdk/worlds/aws/frames.ts'
import { CHECKS, DUE, RUN, runIdOf, seqOf, timeText } from '../../sdk/worlds/aws/keys.ts'
import { RUN_PAYLOADS, unpackText } from '../../sdk/worlds/aws/payloads.ts'
import { createTableInput, TABLE } from '../../sdk/worlds/aws/table.ts'
import { readWake } from '../../sdk/worlds/aws/wake-message.ts'
import { AwsInMemory } from './aws/aws-in-memory.ts'
import type { Table } from './aws/dynamodb/table.ts'
import type { Received } from './aws/sqs/message.ts'
import type { Queue } from './aws/sqs/queue.ts'
import type { Attributes } from './aws/values/attribute-value.ts'
import { type AwsProcess, AwsProcesses } from './aws-processes.ts'
import { type Cloud, type CloudOptions, currentProcess, LEASE_MS, Ledger, type Process, START } from './cloud.ts'
import { awsStored, type Stored } from './flow/stored.ts'
import { Fortune } from './fortune.ts'
import { complaintsAbout } from './lifetimes.ts'
import { Sweeper } from './sweeper.ts'
import type { Trouble } from './trouble.ts'

const DAY = 86_400_000
const SWEEP_EVERY_MS = 60_000
const TIMEOUT_MS = 30_000
/** Where calls take longer than this, functions and leases have five times as long: a visit of fifty calls would not get far otherwise. */
const SLOW_CALLS_MS = 450
const slowness = ({ latency }: Trouble): number => (latency > SLOW_CALLS_MS ? 5 : 1)
/** As the construct has it: after so many receives a message goes to the dead letters. */
export const MOST_RECEIVES = 5
const MOST_DEATHS = 5

/** The AWS world on an AWS in memory, with what its Lambda functions do: runner, dead letters, sweeper. */
export class AwsCloud implements Cloud {
  readonly clock = new VirtualClock(START)
  readonly ledger = new Ledger()
  readonly failures: string[] = []
  onDispatch: (() => void) | undefined
  readonly stored: Stored
  private readonly aws: AwsInMemory
  private readonly table: Table
  private readonly wakes: Queue
  private readonly chores: Queue
  private readonly fortune: Fortune
  private readonly trouble: Trouble
  private readonly timeoutMs: number
  private readonly codes: Registry[]
  private readonly processes: AwsProcesses
  private readonly sweeper: Sweeper
  /** When each life of a run was created, by the token that parts it from others with its id. */
  private readonly lives = new Map<string, string>()

  constructor({ seed, trouble, deployments, mutant, laziestSweepMs = 600_000, processesStay = false }: CloudOptions) {
    this.fortune = new Fortune(`trouble ${seed}`)
    this.trouble = trouble
    this.timeoutMs = TIMEOUT_MS * slowness(trouble)
    this.codes = deployments(this).map((workflows) => new Registry(workflows))
    const lifecycle = [{ prefix: RUN_PAYLOADS, afterMs: 800 * DAY, lagMs: [0, 2 * DAY] as const }]
    this.aws = new AwsInMemory({ seed, clock: this.clock, habits: trouble.habits, lifecycle })
    this.table = this.aws.createTable(createTableInput('runs'), { timeToLive: TABLE.timeToLive })
    this.stored = awsStored(this.table, this.aws.objects)
    const dead = this.aws.sqs.createQueue('dead', { visibilityTimeoutS: 120 })
    this.wakes = this.aws.sqs.createQueue('wakes', {
      maxReceiveCount: MOST_RECEIVES,
      deadLetters: dead,
      visibilityTimeoutS: (6 * this.timeoutMs) / 1_000,
    })
    this.chores = this.aws.sqs.createQueue('chores')
    this.chores.onChange(() => this.onDispatch?.())
    this.watchTable(mutant?.write)
    this.processes = new AwsProcesses({
      aws: this.aws,
      clock: this.clock,
      trouble,
      fortune: this.fortune,
      ids: seededIds(seed),
      ledger: this.ledger,
      mutant,
      notesClaims: processesStay,
      queues: { wakes: this.wakes, chores: this.chores },
      codeOfNow: () => this.codeOfNew(),
    })
    const once = { batchSize: 1, maxConcurrency: 10, timeoutMs: this.timeoutMs }
    this.aws.eventSource(this.wakes, {
      ...once,
      handler: (messages) => this.invoke(messages, (process, message) => this.takeUp(process, message)),
    })
    this.aws.eventSource(dead, {
      ...once,
      handler: (messages) => this.invoke(messages, (process, message) => this.park(process, message)),
    })
    this.sweeper = new Sweeper(this.clock, { everyMs: SWEEP_EVERY_MS, laziestMs: laziestSweepMs }, () => this.sweep())
  }

  get blows(): number {
    return this.fortune.blows
  }

  get workflows(): Registry {
    return this.codes[this.codeOfNow()]!
  }

  calm(): void {
    this.fortune.calm()
  }

  observer(): World {
    return this.processes.observer()
  }

  client(): { world: World; process: Process } {
    this.sweeper.stir()
    const process = this.processes.cold()
    return { world: process.world, process }
  }

  runIds(which: 'all' | 'open'): string[] {
    const ids: string[] = []
    for (const item of this.runItems())
      if (which === 'all' || item.endedAt === undefined) ids.push(runIdOf(item.pk!.S!))
    return ids
  }

  nextTask(): number | undefined {
    const at = this.chores.nextVisibleAt
    return at === undefined ? undefined : Math.max(at, this.clock.now())
  }

  complaints(): string[] {
    return complaintsAbout(this.table, this.aws.objects, this.clock.now())
  }

  nextMoment(): number | undefined {
    return this.clock.next()
  }

  async step(): Promise<boolean> {
    await new Promise<void>((resolve) => setImmediate(resolve))
    const next = this.clock.next()
    if (next === undefined) return false
    this.clock.moveTo(next)
    return true
  }

  private codeOfNow(): number {
    return this.clock.now() >= START + this.trouble.deployAfter ? this.codes.length - 1 : 0
  }

  /** Old functions live on for a while beside new ones. */
  private codeOfNew(): number {
    const isTransition =
      this.codes.length > 1 && this.clock.now() < START + this.trouble.deployAfter + this.trouble.deployTakes
    return isTransition && this.fortune.isHeads() ? 0 : this.codeOfNow()
  }

  /** What Lambda does with a batch. A process that is dead or frozen when the time is up never answers. */
  private async invoke(
    messages: Received[],
    act: (process: AwsProcess, message: Received) => Promise<void>,
  ): Promise<string[]> {
    const { fortune, trouble } = this
    this.sweeper.stir()
    if (fortune.strikes(trouble.loseWake)) return []
    if (fortune.strikes(trouble.noRoom)) throw new Error('no room')
    const process = this.processes.warmOrCold()
    const stopTimer = this.clock.at(this.clock.now() + this.timeoutMs, () => {
      // One that stands still is not noticed, and goes on when it can.
      if (!process.isFrozen) process.kill()
    })
    const outcomes = await currentProcess.run(process, () =>
      Promise.allSettled(messages.map((message) => act(process, message))),
    )
    stopTimer()
    this.processes.giveBack(process)
    return messages.filter((_, i) => outcomes[i]!.status === 'rejected').map(({ id }) => id)
  }

  /** functions/runner.ts */
  private async takeUp({ world, clock, id, code }: AwsProcess, { body }: Received): Promise<void> {
    const deadline = clock.now() + this.timeoutMs
    try {
      const wake = readWake(body)
      if (!(await world.wakeups.isDue(wake))) return
      await runOnce(world, this.codes[code]!, wake.runId, {
        lease: { owner: `process ${id}`, ms: LEASE_MS * slowness(this.trouble) },
        deadline,
        mostDeaths: MOST_DEATHS,
      })
    } catch (error) {
      this.unlessOfAws('a runner', error)
      throw error
    }
  }

  /** functions/dead-letters.ts */
  private async park({ world }: AwsProcess, { body }: Received): Promise<void> {
    const { runId } = readWake(body)
    const outcome = await world.store.park(
      runId,
      { name: 'DeadLetterError', message: 'its runners failed too often, or died' },
      { ifClaimed: true },
    )
    if (outcome === 'leased') throw new Error(`run '${runId}' is held by a runner; looking again later`)
  }

  /** functions/sweeper.ts. It asks 16 shards; where nothing is overdue that is not worth simulating. */
  private async sweep(): Promise<void> {
    const now = timeText(this.clock.now() + this.trouble.skew)
    const isDue = ({ dueShard, dueKey }: Attributes) =>
      [DUE, CHECKS].some((prefix) => dueShard?.S?.startsWith(prefix)) && dueKey!.S! <= now
    if (![...this.table.items()].some(({ item }) => isDue(item))) return
    const { world } = this.processes.cold()
    try {
      await world.wakeups.send(await world.store.overdue(world.clock.now(), 10_000))
      const { wakes, failures } = await world.store.checkLimiters(world.clock.now(), 1_000)
      for (const { error } of failures) this.unlessOfAws('the check of a limiter', error)
      await world.wakeups.send(wakes)
    } catch (error) {
      this.unlessOfAws('the sweeper', error)
    }
  }

  private unlessOfAws(who: string, error: unknown): void {
    if (!(error instanceof Error) || !OF_AWS.includes(error.name))
      this.failures.push(`${who} threw: ${error instanceof Error ? error.stack : error}`)
  }

  private *runItems(): Generator<Attributes> {
    for (const { item } of this.table.items()) if (item.sk?.S === RUN) yield item
  }

  /** I1, where nothing can hide: in the table itself. */
  private watchTable(
    plant: ((before: Attributes | undefined, item: Attributes | undefined) => Attributes | undefined) | undefined,
  ): void {
    const { table } = this
    const write = table.write.bind(table)
    table.write = (key, item) => {
      const planted = plant ? plant(table.read(key, 0)?.item, item) : item
      write(key, planted)
      if (planted?.sk?.S === RUN)
        this.lives.set(planted.life!.S!, `'${runIdOf(planted.pk!.S!)}' of ${Number(planted.createdAt!.N) - START}`)
      if (planted?.sk?.S?.startsWith('J#')) this.noteFrame(unmarshall(planted) as FrameItem)
    }
  }

  private noteFrame({ sk, life, events }: FrameItem): void {
    const text = unpackText(typeof events === 'object' && 's3' in events ? this.aws.objects.get(events.s3) : events)
    const problem = this.ledger.write(
      this.lives.get(life)!,
      { seq: seqOf(sk), events: JSON.parse(text) as JournalEvent[] },
      this.clock.now(),
    )
    if (problem) this.failures.push(problem)
  }
}

/** What the SDK throws when it has tried often enough. */
const OF_AWS = [
  'TimeoutError',
  'ProvisionedThroughputExceededException',
  'RequestThrottled',
  'ThrottlingException',
  'SlowDown',
]
