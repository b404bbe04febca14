import { Client } from '../../../sdk/client/client.ts'
import type { DocumentStore } from '../../../sdk/ports/documents.ts'
import { hasEnded } from '../../../sdk/ports/run.ts'
import type { World } from '../../../sdk/ports/world.ts'
import { type Cloud, START } from '../cloud.ts'
import { replacing } from '../spies.ts'
import type { Act, Scenario, Scope, StartPlan } from './scenario.ts'
import { runsHeldBy } from './stored.ts'
import type { FlowWitness } from './witness.ts'
import { canaryOf, type Input } from './workflows.ts'

const PATIENCE_MS = 20_000
/** What a start reads in one go, where starts become one run, does not grow with how many starts came before it. */
const MOST_READ = 8

/** A start that somebody was told is accepted. */
export interface AcceptedStart {
  plan: StartPlan
  runId: string
  /** When its sender first sent it, and when it first knew. */
  sentAt: number
  knownAt: number
}

/** People and programs that start and steer runs, each from a process of its own. Who gets no answer asks again, with the same key. */
export class FlowOutside {
  readonly accepted = new Map<number, AcceptedStart>()
  /** Runs that were erased, as the store has confirmed. */
  readonly erased = new Set<string>()
  private readonly cloud: Cloud
  private readonly scenario: Scenario
  private readonly witness: FlowWitness
  private pending = 0
  private retries = 0
  private readonly isQuiet: boolean
  /** When each pause was last asked for. */
  private readonly pausedAt = new Map<string, number>()

  constructor(cloud: Cloud, scenario: Scenario, witness: FlowWitness, isQuiet: boolean) {
    // By clocks that are apart, what is due is not due for everybody, and comes with the sweeper.
    this.isQuiet = isQuiet && witness.skew === 0
    witness.isQuiet = this.isQuiet
    this.cloud = cloud
    this.scenario = scenario
    this.witness = witness
  }

  play(): void {
    for (const start of this.scenario.starts) this.start(start)
    const lanes = Map.groupBy(this.scenario.acts.entries(), ([, act]) =>
      JSON.stringify('scope' in act ? act.scope : 'limit' in act ? act.limit : act),
    )
    for (const acts of lanes.values()) this.oneAfterTheOther([...acts])
  }

  get isBusy(): boolean {
    return this.pending > 0
  }

  /** Everything that operators have paused or changed is as the code has it, and what is stuck goes on. */
  lift(onLifted: () => void): void {
    const { witness, cloud } = this
    this.insist(
      cloud.clock.now(),
      async (client) => {
        for (const { name, paused, isSet } of await client.limits.list()) {
          witness.forced.pauseLimit(name, undefined)
          if (paused) await client.limits.resume(name)
          if (isSet) await client.limits.reset(name)
          witness.forced.reset(name, cloud.clock.now())
        }
        for (const { scope, perSecond } of await client.pauses()) {
          witness.forced.resume(scope)
          witness.resumes.forget(JSON.stringify(scope))
          if (perSecond === undefined || perSecond < 100) await client.resume(scope, { perSecond: 100 }).catch(isOver)
        }
      },
      onLifted,
    )
  }

  /** A run whose runners died too often waits for people. Nothing else may get stuck. */
  async retryStuck(): Promise<void> {
    const { store } = this.cloud.observer()
    for (const id of this.cloud.runIds('open')) {
      if (this.cloud.stored.run(id)?.status !== 'stuck') continue
      const { name, message } = (await store.get(id))!.error!
      const isDeadly = name === 'DeadLetterError' || message.includes('times in a row the process that took up run')
      if (!isDeadly) this.witness.fail('stuck', `run '${id}' is stuck: ${name}: ${message}`)
      this.witness.goesOn(id)
      const key = `unstick ${++this.retries}`
      this.insist(this.cloud.clock.now(), (client) => client.retry(id, { idempotencyKey: key }).catch(isOver))
    }
  }

  /** Erases what has ended, for the check that nothing of it is left. */
  eraseAll(ids: readonly string[], onDone: () => void): void {
    this.insist(
      this.cloud.clock.now(),
      async (client) => {
        for (const id of ids) {
          await client.erase(id).catch(isOver)
          this.erased.add(id)
        }
      },
      onDone,
    )
  }

  private start(plan: StartPlan): void {
    const { n, key, priority } = plan
    const { name, debounce, batch, singleton } = this.scenario.workflows[plan.workflow]!
    const isCoalesced = debounce !== undefined || batch !== undefined
    const input: Input = { n, key, priority, canary: canaryOf(n) }
    let sentAt: number | undefined
    this.insist(START + plan.at, async (client, reads) => {
      sentAt ??= this.now
      const options = isCoalesced ? { idempotencyKey: `start ${n}` } : { id: `${name}-${n}` }
      const { runId } = await client.start<Input, unknown>(name, input, options)
      if (isCoalesced && reads.most > MOST_READ)
        this.witness.fail(
          'reads',
          `start ${n} of '${name}' read ${reads.most} documents in one go; at most ${MOST_READ} are to be needed`,
        )
      const before = this.accepted.get(n)
      if (before && before.runId !== runId)
        this.witness.fail('starts', `start ${n} was told that it is in run '${before.runId}', and then in '${runId}'`)
      const waits = debounce ? debounce.waitMs : (batch?.waitMs ?? 0)
      // A singleton that skips gives the run that is there.
      if (!singleton || runId === options.id) this.witness.know(runId, name, key, { readyAt: this.now + waits })
      this.accepted.set(n, before ?? { plan, runId, sentAt, knownAt: this.now })
    })
  }

  /** Who pauses and resumes the same thing waits for each answer: otherwise nobody could tell which of the two counts. */
  private oneAfterTheOther([first, ...rest]: [number, Act][]): void {
    if (!first) return
    const [i, act] = first
    const perform = async (client: Client) => {
      if (act.kind === 'pause' || act.kind === 'resume') await this.pauseOrResume(client, act)
      else if ('limit' in act) await this.changeLimit(client, act).catch(isOver)
      else await this.steer(client, act, `act ${i}`)
    }
    const isInside = 'scope' in act && act.isInside === true
    this.insist(Math.max(this.now, START + act.at), perform, () => this.oneAfterTheOther(rest), isInside)
  }

  private async pauseOrResume(client: Client, act: Extract<Act, { kind: 'pause' | 'resume' }>): Promise<void> {
    const scope = this.scopeOf(act.scope)
    if (!scope) return
    const { forced, resumes, skew } = this.witness
    const name = JSON.stringify(scope)
    if (act.kind === 'pause') {
      this.pausedAt.set(name, this.now - skew)
      const isPaused = await client.pause(scope).then(() => true, isOver)
      if (isPaused) forced.pause(scope, this.now)
      resumes.forget(name)
    } else {
      forced.resume(scope)
      if (this.isQuiet && !('run' in scope))
        resumes.resumed(name, act.perSecond, runsHeldBy(this.cloud.stored, scope, this.pausedAt.get(name) ?? 0))
      const isResumed = await client.resume(scope, { perSecond: act.perSecond }).then(() => true, isOver)
      // It was over by then: what is held goes on as an earlier resume said.
      if (!isResumed) resumes.forget(name)
    }
  }

  private async changeLimit(client: Client, act: Extract<Act, { limit: string }>): Promise<void> {
    const { limits } = client
    const { forced } = this.witness
    if (act.kind === 'set limit') {
      forced.setNumbers(act.limit, act.numbers, this.now)
      await limits.set(act.limit, act.numbers)
    } else if (act.kind === 'reset limit') {
      await limits.reset(act.limit)
      forced.reset(act.limit, this.now)
    } else if (act.kind === 'pause limit') {
      await limits.pause(act.limit)
      forced.pauseLimit(act.limit, this.now)
    } else {
      forced.pauseLimit(act.limit, undefined)
      await limits.resume(act.limit)
    }
  }

  private async steer(client: Client, act: Extract<Act, { start: number }>, key: string): Promise<void> {
    const { forced } = this.witness
    const runId = this.accepted.get(act.start)?.runId
    if (runId === undefined || this.erased.has(runId)) return
    const status = this.cloud.stored.run(runId)?.status
    if (status === undefined) return
    if (act.kind === 'cancel' || act.kind === 'terminate') {
      forced.stop(runId)
      await client[act.kind](runId, 'by an operator', { idempotencyKey: key }).catch(isOver)
    } else if (act.kind === 'retry') {
      if (status !== 'failed') return
      forced.retry(runId)
      this.witness.goesOn(runId)
      await client.retry(runId, { idempotencyKey: key }).catch(isOver)
    } else if (act.kind === 'rerun') await this.rerun(client, runId, key)
    else if (hasEnded(status)) {
      await client.erase(runId).catch(isOver)
      this.erased.add(runId)
    }
  }

  private async rerun(client: Client, runId: string, key: string): Promise<void> {
    const id = `rerun-of-${runId}`.slice(0, 60)
    const seen = this.witness.runs.get(runId)
    // What has not begun has nothing that could be taken over.
    if (!seen?.inputs) return
    this.witness.know(id, seen.plan.name, seen.key, { isRerun: true })
    await client.rerun(runId, { id, idempotencyKey: key }).catch(isOver)
  }

  private scopeOf(scope: Scope): { all: true } | { workflow: string } | { run: string } | undefined {
    if (!('start' in scope)) return scope
    const run = this.accepted.get(scope.start)?.runId
    return run === undefined ? undefined : { run }
  }

  /** Does it from then on, until it is done. `isInside`: in a process that runs runs, where there is one. */
  private insist(
    at: number,
    act: (client: Client, reads: Reads) => Promise<unknown>,
    onDone?: () => void,
    isInside = false,
  ): void {
    const { cloud } = this
    this.pending++
    const attempt = () => {
      const insider = isInside ? cloud.insider?.() : undefined
      const { world, process } = insider ?? cloud.client()
      let isDone = false
      const reads = { most: 0 }
      act(new Client(insider ? world : counting(world, reads), cloud.workflows), reads).then(
        () => {
          isDone = true
          this.pending--
          onDone?.()
        },
        (error: unknown) => {
          if (error instanceof TypeError) this.witness.fail('threw', `a client threw: ${error.stack}`)
        },
      )
      const look = () => {
        // Its call may still arrive. Somebody else is killed, so that what was given up cannot.
        if (insider && process.isAlive && !isDone) cloud.clock.at(cloud.clock.now() + PATIENCE_MS, look)
        else {
          if (!insider) process.kill()
          if (!isDone) attempt()
        }
      }
      cloud.clock.at(cloud.clock.now() + PATIENCE_MS, look)
    }
    cloud.clock.at(at, attempt)
  }

  private get now(): number {
    return this.cloud.clock.now()
  }
}

interface Reads {
  most: number
}

/** The same world, and how many documents it reads at most in one go. */
function counting(world: World, reads: Reads): World {
  const { documents } = world
  const counted: DocumentStore = replacing(documents, {
    list: async (collection, range) => {
      const found = await documents.list(collection, range)
      reads.most = Math.max(reads.most, found.length)
      return found
    },
  })
  return Object.assign(world, { documents: counted })
}

/** Answers that say that there is nothing to do, or nothing any more. */
function isOver(error: Error): false {
  if (
    !['ConflictError', 'RunNotFoundError', 'LimitNotFoundError', 'InvalidInputError', 'GoneError'].includes(error.name)
  )
    throw error
  return false
}
