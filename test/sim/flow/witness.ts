import { isTerminal } from '../../../sdk/base/events.ts'
import { hasEnded } from '../../../sdk/ports/run.ts'
import type { TaskPayload } from '../../../sdk/tasks/wire.ts'
import { type Cloud, currentProcess, delay, type Process } from '../cloud.ts'
import type { Trouble } from '../trouble.ts'
import { ForcedLimits } from './forced-limits.ts'
import { Resumes } from './resumes.ts'
import type { Scenario, StepPlan, WorkflowPlan } from './scenario.ts'

/** One limit, or one key of it, that a run or a step has to be let in to. */
export interface LimiterToPass {
  /** As the product names the limit. */
  limit: string
  key: string | undefined
  concurrency?: number
  rate?: number
  perMs?: number
}

export const gateText = ({ limit, key }: LimiterToPass): string => (key === undefined ? limit : `${limit} of '${key}'`)

export interface SeenStep {
  plan: StepPlan
  gate: LimiterToPass | undefined
  /** One that has failed may be asked for again, when somebody retries the run. */
  state: 'called' | 'executing' | 'settled' | 'failed'
  /** It need not begin before: its last attempt failed, and the next one is for then. */
  readyAt: number
  movedAt: number
  /** A task keeps its permit between its attempts. */
  isTakenUp: boolean
  /** Its end was seen before. */
  isKnown?: true
}

export interface SeenRun {
  id: string
  plan: WorkflowPlan
  key: string
  gates: LimiterToPass[]
  /** The starts whose input its function got, once it did. */
  inputs: number[] | undefined
  isRerun: boolean
  /** It is between its begin and its end, as far as its function can tell: the store says whether it has ended since. */
  isInside: boolean
  /** It need not begin before. */
  readyAt: number
  sleepsUntil: number
  sleeps: Set<string>
  movedAt: number
  steps: Map<string, SeenStep>
}

export interface Body {
  run: SeenRun
  step: SeenStep
  process: Process
  epoch: number | undefined
  beganAt: number
  endsAt?: number
  isOver: boolean
}

interface Begin {
  at: number
  amount: number
  who: string
  /** It took its part of the rate when it was handed out, some time before. */
  isTask: boolean
}

const USUAL_LATENCY_MS = 300
/** How long a runner may go by what it knows of pauses, as docs/limits.md states it. */
export const NOTICE_MS = 10_000
/** What a runner that has just looked may still need until it begins: a few calls to the store. */
const NOTICE_SLACK_MS = 10_000
/** Where nothing is late, what had its permit before a limit was paused has begun by then. */
const PERMITTED_BEFORE_MS = 6_000
/** A runner begins within this time of its permit, or has to ask again: so much may two begins come closer than they were permitted. */
const BEGIN_SLACK_MS = 2_000
/**
 * A runner that was in the middle of a commit when its run was terminated begins what the commit was for. It does not look at its lease
 * again after a commit that took less than a second, and the last look is a call away.
 */
const IN_A_COMMIT_MS = 1_000

/** Sees runs and bodies begin and end, and knows what the limits allow. Everything goes by the true clock. */
export class FlowWitness {
  readonly runs = new Map<string, SeenRun>()
  readonly bodies: Body[] = []
  readonly forced = new ForcedLimits()
  readonly resumes = new Resumes()
  cloud!: Cloud
  /** Nobody dies or stands still, and every message comes at once. */
  isQuiet = false
  readonly scenario: Scenario
  readonly skew: number
  readonly latency: number
  private readonly said = new Set<string>()
  private readonly began = new Map<string, Begin[]>()
  /** When something last began at each limiter. */
  private readonly served = new Map<string, number>()
  /** By limit, or limit and key: until when a service asked for a rest. */
  private readonly rests = new Map<string, number>()
  private readonly onceOnly = new Map<string, number>()

  /** What calls to the store may take that are slower than usual, on the way from a look or a permit to a begin. */
  private readonly slowMs: number

  constructor(scenario: Scenario, { skew, latency }: Pick<Trouble, 'skew' | 'latency'>) {
    this.slowMs = 6 * Math.max(0, latency - USUAL_LATENCY_MS)
    this.latency = latency
    this.scenario = scenario
    this.skew = skew
  }

  get now(): number {
    return this.cloud.clock.now()
  }

  /** Once for each kind and subject: the first is what tells. */
  fail(kind: string, message: string): void {
    if (this.said.has(kind)) return
    this.said.add(kind)
    this.cloud.failures.push(`${kind}: ${message}`)
  }

  /** A run as the outside or its own function first hears of it. */
  know(id: string, workflow: string, key: string, fields: { readyAt?: number; isRerun?: boolean } = {}): SeenRun {
    const there = this.runs.get(id)
    const { readyAt = 0, isRerun = false } = fields
    if (there) {
      there.readyAt = Math.max(there.readyAt, readyAt)
      return there
    }
    const plan = this.scenario.workflows.find(({ name }) => name === workflow)!
    const common = { id, plan, key, gates: runGates(plan, key), inputs: undefined, isRerun, isInside: false }
    const run = { ...common, readyAt, sleepsUntil: 0, sleeps: new Set<string>(), movedAt: this.now, steps: new Map() }
    this.runs.set(id, run)
    return run
  }

  /** Its function is called: for the first time, or to be replayed. Outside of any process nothing counts: that is a check. */
  enters(id: string, workflow: string, key: string, inputs: number[], generation: number): SeenRun | undefined {
    const process = currentProcess.getStore()
    if (!process) return undefined
    const run = this.know(id, workflow, key)
    // A debounced run has the key of the start that counts.
    run.inputs ??= inputs
    const state = this.cloud.stored.run(id)
    // A runner that has lost its run calls the function in vain.
    if (!state || !this.isOpen(id) || process.claims.get(id) !== state.epoch) return run
    if (!run.isInside && generation === 0) this.begin(run, process)
    const tooFast = this.resumes.goesOn(id, this.now)
    if (tooFast !== undefined) this.fail('resume', tooFast)
    run.isInside = true
    return run
  }

  /** It failed or was stuck, and is told to go on: it stands in line again. */
  goesOn(id: string): void {
    const run = this.runs.get(id)
    if (!run) return
    run.isInside = false
    run.movedAt = this.now
  }

  /** Its code asks for a step; replayed, it asks again. */
  calls(run: SeenRun | undefined, plan: StepPlan, generation: number): SeenStep | undefined {
    if (!run) return undefined
    const name = `${plan.name} ${generation}`
    const there = run.steps.get(name)
    if (there?.state === 'failed') there.state = 'called'
    if (there) return there
    const step: SeenStep = {
      plan,
      gate: this.gateOf(run, plan),
      state: 'called',
      readyAt: 0,
      movedAt: this.now,
      isTakenUp: false,
    }
    run.steps.set(name, step)
    run.movedAt = this.now
    return step
  }

  /** The code has its result, or does not want it any more. */
  settles(run: SeenRun | undefined, step: SeenStep | undefined, how: 'settled' | 'failed' = 'settled'): void {
    if (!run || !step || step.state === 'settled') return
    step.state = how
    // A replay that says it again moves nothing.
    if (step.isKnown) return
    step.isKnown = true
    run.movedAt = this.now
    step.movedAt = this.now
  }

  /** Its code asks for a sleep. */
  sleeps(run: SeenRun | undefined, name: string, ms: number): void {
    if (!run || run.sleeps.has(name)) return
    run.sleeps.add(name)
    run.sleepsUntil = this.now + ms
    run.movedAt = this.now
  }

  /** A body from its begin to its end. An aborted one ends at once. */
  async execute(run: SeenRun, step: SeenStep, attempt: number, signal: AbortSignal): Promise<void> {
    const process = currentProcess.getStore()!
    const body: Body = { run, step, process, epoch: process.claims.get(run.id), beganAt: this.now, isOver: false }
    if (step.plan.isAtMostOnce) this.checkOnce(run, step, attempt)
    this.beginBody(body)
    const end = () => {
      if (body.isOver) return
      body.isOver = true
      step.movedAt = this.now
      run.movedAt = this.now
      if (step.state === 'executing') step.state = 'called'
    }
    if (signal.aborted) return end()
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(end())))
    if (step.plan.ms > 0) await Promise.race([delay(step.plan.ms, process), aborted])
    end()
    signal.throwIfAborted()
  }

  /** An attempt has failed; the next one is for later. */
  failsUntil(step: SeenStep, ms: number): void {
    step.readyAt = this.now + ms
  }

  /** A worker has taken a task up. */
  takesUp({ run_id, input }: TaskPayload, process: Process): void {
    const { name } = input as { name: string }
    const run = this.runs.get(run_id)
    const step = run?.steps.get(name)
    if (!run || !step) return
    step.isTakenUp = true
    this.beginBody({
      run,
      step,
      process,
      epoch: undefined,
      beganAt: this.now,
      endsAt: this.now + step.plan.ms,
      isOver: false,
    })
  }

  /** A service has answered 429. */
  restsFor(gate: LimiterToPass, isKeyed: boolean, ms: number): void {
    const name = isKeyed ? gateText(gate) : gate.limit
    this.rests.set(name, Math.max(this.rests.get(name) ?? 0, this.now + ms))
  }

  /** Who is inside counts for the limits of runs. */
  runsInside(gate: LimiterToPass): SeenRun[] {
    const name = gateText(gate)
    return [...this.runs.values()].filter(
      (run) => run.isInside && run.gates.some((each) => gateText(each) === name) && this.isOpen(run.id),
    )
  }

  /**
   * The rule for steps: a body counts from its begin to its end, if its process is alive and has the lease of its run. From the
   * moment that its lease ends, a runner that is frozen, or cut off, does not count, though its body may go on. Its lease ends
   * when the time that is stored is over, by the clock that is furthest ahead, or when somebody else has claimed, ended or
   * parked the run. A task counts while its worker is at it, and at most for as long as the
   * work takes. It does not count with a worker that stood still: by then it may be another worker's.
   */
  bodiesInside(gate: LimiterToPass): Body[] {
    const name = gateText(gate)
    return this.bodies.filter((body) => body.step.gate && gateText(body.step.gate) === name && this.counts(body))
  }

  counts(body: Body): boolean {
    if (body.isOver || !body.process.isAlive || !this.isOpen(body.run.id)) return false
    if (body.endsAt !== undefined)
      return this.now < body.endsAt && body.process.heldUpUntil === 0 && !this.isWithdrawn(body)
    return this.hasLease(body.run.id, body.epoch, -this.skew)
  }

  /** A race went on without the task. It has given its permit back, and its worker is told when it next says something. */
  private isWithdrawn({ run, step }: Body): boolean {
    const isIt = (op: string) => op.split('/').at(-1) === step.plan.name
    return this.cloud.ledger.someEvent(
      run.id,
      (event) => event.type === 'decided' && event.withdrawn?.some(isIt) === true,
    )
  }

  /** How much of a rate has begun in the last so many milliseconds. */
  begunWithin(gate: LimiterToPass, ms: number): number {
    return this.lately(gate, ms).reduce((sum, { amount }) => sum + amount, 0)
  }

  private lately(gate: LimiterToPass, ms: number): Begin[] {
    return (this.began.get(gateText(gate)) ?? []).filter(({ at }) => at > this.now - ms)
  }

  private noteBegin(gate: LimiterToPass, begin: Begin): void {
    this.began.set(gateText(gate), [...(this.began.get(gateText(gate)) ?? []), begin])
  }

  servedAt(gate: LimiterToPass): number {
    return this.served.get(gateText(gate)) ?? 0
  }

  restsUntil(gate: LimiterToPass): number {
    return Math.max(this.rests.get(gate.limit) ?? 0, this.rests.get(gateText(gate)) ?? 0)
  }

  /** A run ends with the frame that says so. What the run itself says may come a little later. */
  isOpen(id: string): boolean {
    const state = this.cloud.stored.run(id)
    if (!state || hasEnded(state.status) || state.status === 'stuck') return false
    const last = this.cloud.ledger.lastEvent(id)
    return !last || !isTerminal(last)
  }

  private hasLease(id: string, epoch: number | undefined, tolerance: number): boolean {
    const state = this.cloud.stored.run(id)
    return state !== undefined && state.epoch === epoch && (state.leaseUntil ?? 0) + tolerance > this.now
  }

  private hasJustBeenTerminated(id: string): boolean {
    const { ledger } = this.cloud
    if (ledger.lastEvent(id)?.type !== 'run.terminated') return false
    return this.now - ledger.lastWriteAt(id)! <= IN_A_COMMIT_MS + 2 * this.latency
  }

  private begin(run: SeenRun, process: Process): void {
    run.movedAt = this.now
    this.checkPause(run, process, 'began')
    for (const gate of run.gates) {
      this.served.set(gateText(gate), this.now)
      this.checkLimitPause(gate, `run '${run.id}'`)
      const { concurrency } = this.forced.most(gate, this.now)
      const others = this.runsInside(gate).filter(({ id }) => id !== run.id)
      if (concurrency !== undefined && others.length >= concurrency)
        this.fail(
          'limit',
          `run '${run.id}' began while ${list(others)} were inside ${gateText(gate)}, which takes ${concurrency}`,
        )
      // A run that was retried began long ago.
      // A run that is to stop does not wait for that.
      if (run.steps.size === 0 && !this.forced.isToStop(run.id)) this.checkRate(gate, 1, `run '${run.id}'`)
    }
  }

  private beginBody(body: Body): void {
    const { run, step, process } = body
    const { gate, plan } = step
    const who = `step '${plan.name}' of run '${run.id}'`
    const isWorkers = body.endsAt !== undefined
    step.state = 'executing'
    step.movedAt = this.now
    run.movedAt = this.now
    if (gate) this.served.set(gateText(gate), this.now)
    if (!isWorkers) this.checkPause(run, process, `began step '${plan.name}'`)
    const isHolder = () => this.isOpen(run.id) && this.hasLease(run.id, body.epoch, this.skew)
    const hasLease = isWorkers ? process.heldUpUntil === 0 : isHolder()
    if (gate && !hasLease && !isWorkers && !this.hasJustBeenTerminated(run.id))
      this.fail('lease', `${who} began in process ${process.id}, which had lost the lease of the run`)
    if (gate && hasLease) {
      // A task keeps its permit between its attempts.
      if (!isWorkers) this.checkLimitPause(gate, who)
      const { concurrency } = this.forced.most(gate, this.now)
      const others = this.bodiesInside(gate).filter((other) => other.step !== step)
      if (concurrency !== undefined && others.length >= concurrency) {
        const inside = others.map((other) => `'${other.run.id}/${other.step.plan.name}'`).join(', ')
        this.fail('limit', `${who} began while ${inside} were inside ${gateText(gate)}, which takes ${concurrency}`)
      }
      // A task that is handed out again has its permit still.
      // A task takes its part of a rate when it is handed out, and a worker may come for it later.
      if (isWorkers) this.noteBegin(gate, { at: this.now, amount: plan.cost, who, isTask: true })
      else this.checkRate(gate, plan.cost, who)
    }
    this.bodies.push(body)
  }

  /**
   * A rate holds for what begins. The period is shorter than stated by the skew of the clocks, and by what a runner may take
   * from its permit to its begin.
   */
  private checkRate(gate: LimiterToPass, amount: number, who: string): void {
    const { rate } = this.forced.most(gate, this.now)
    if (rate === undefined) return
    this.noteBegin(gate, { at: this.now, amount, who, isTask: false })
    const period = gate.perMs! - this.skew - BEGIN_SLACK_MS - this.slowMs
    if (period <= 0) return
    const begun = this.lately(gate, period).filter(({ isTask }) => !isTask)
    const sum = begun.reduce((all, one) => all + one.amount, 0)
    if (sum > rate) {
      const lately = begun.map((one) => one.who)
      this.fail(
        'rate',
        `${sum} of ${gateText(gate)} began within ${period} ms, which takes ${rate} in ${gate.perMs}: ${lately.join(', ')}`,
      )
    }
  }

  /** While it is paused nothing begins, once runners must have noticed: one that stood still has that time from when it went on. */
  private checkPause(run: SeenRun, process: Process, what: string): void {
    const since = this.forced.pausedSince(run.id, run.plan.name)
    if (since === undefined || this.forced.isToStop(run.id)) return
    const noticed = Math.max(since, process.heldUpUntil) + NOTICE_MS + NOTICE_SLACK_MS + this.slowMs
    if (this.now > noticed) this.fail('pause', `run '${run.id}' ${what} ${this.now - since} ms after it was paused`)
  }

  /** What had its permit before the limit was paused may begin. Where nothing is late, it has done so by then. */
  private checkLimitPause(gate: LimiterToPass, who: string): void {
    const since = this.forced.limitPausedSince(gate.limit)
    if (this.isQuiet && since !== undefined && this.now - since > PERMITTED_BEFORE_MS + this.slowMs)
      this.fail('paused limit', `${who} began ${this.now - since} ms after ${gate.limit} was paused`)
  }

  private checkOnce(run: SeenRun, step: SeenStep, attempt: number): void {
    const name = `${run.id} ${step.plan.name} ${attempt} ${this.forced.retriesOf(run.id)}`
    const times = (this.onceOnly.get(name) ?? 0) + 1
    this.onceOnly.set(name, times)
    if (times > 1 && run.plan.rounds === 0)
      this.fail('I4', `at-most-once step '${step.plan.name}' of run '${run.id}' ran ${times} times`)
  }

  private gateOf(run: SeenRun, { limit }: StepPlan): LimiterToPass | undefined {
    if (limit === undefined) return undefined
    const { name, isKeyed, concurrency, rate, perMs } = this.scenario.limits[limit]!
    const numbers = {
      ...(concurrency !== undefined && { concurrency }),
      ...(rate !== undefined && { rate, perMs: perMs! }),
    }
    return { limit: name, key: isKeyed ? run.key : undefined, ...numbers }
  }
}

function runGates(plan: WorkflowPlan, key: string): LimiterToPass[] {
  const { name, concurrency = [], rate, singleton } = plan
  const gates: LimiterToPass[] = concurrency.map(({ limit, isKeyed }, i) => ({
    limit: `${name}:concurrency${i === 0 ? '' : `:${i + 1}`}`,
    key: isKeyed ? key : undefined,
    concurrency: limit,
  }))
  if (singleton) gates.push({ limit: `${name}:singleton`, key, concurrency: 1 })
  if (rate)
    gates.push({ limit: `${name}:rate`, key: rate.isKeyed ? key : undefined, rate: rate.limit, perMs: rate.perMs })
  return gates
}

const list = (runs: SeenRun[]): string => runs.map(({ id }) => `'${id}'`).join(', ')
