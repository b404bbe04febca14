import type { SeededRandom } from '../../../sdk/base/random.ts'
import { MOODY } from '../aws/aws-in-memory.ts'
import { NO_TROUBLE, type Trouble } from '../trouble.ts'

/** What is started, steered and limited in one history: data, so that a seed can make it up and anybody can read it. */
export interface Scenario {
  theme: Theme
  /** Limits that steps share. */
  limits: LimitPlan[]
  workflows: WorkflowPlan[]
  starts: StartPlan[]
  acts: Act[]
}

const THEMES = ['steps', 'pauses', 'runs', 'coalescing', 'rates'] as const
type Theme = (typeof THEMES)[number]

export interface LimitPlan {
  name: string
  concurrency?: number
  rate?: number
  perMs?: number
  /** Each key of the input has the numbers to itself. */
  isKeyed: boolean
}

export interface WorkflowPlan {
  name: string
  concurrency?: { limit: number; isKeyed: boolean }[]
  rate?: { limit: number; perMs: number; isKeyed: boolean }
  singleton?: 'skip' | 'cancel-running' | 'queue-latest'
  debounce?: { waitMs: number; maxMs: number }
  batch?: { size: number; waitMs: number; isKeyed: boolean }
  isPrioritised: boolean
  /** How often it continues as new. */
  rounds: number
  parts: Part[]
}

export type Part =
  | { kind: 'sleep'; name: string; ms: number }
  | { kind: 'seq' | 'all' | 'race'; name: string; steps: StepPlan[] }

export interface StepPlan {
  name: string
  /** Which of the scenario's limits. */
  limit?: number
  cost: number
  ms: number
  failures: number
  backoffMs: number
  /** Its first attempt answers 429: the limit, or its key, is to rest for so long. */
  rest?: { ms: number; isKeyed: boolean }
  isAtMostOnce: boolean
  /** A worker does it. */
  isTask: boolean
  /** Fails for good until it is mended, so that the run fails and can be retried. */
  breaksUntilMs?: number
}

export interface StartPlan {
  n: number
  at: number
  workflow: number
  key: string
  priority: number
}

export type Scope = { all: true } | { workflow: string } | { start: number }

export type Act = { at: number } /** `isInside`: by code in a process that runs runs. */ & (
  | { kind: 'pause'; scope: Scope; isInside?: boolean }
  | { kind: 'resume'; scope: Scope; perSecond: number; isInside?: boolean }
  | { kind: 'cancel' | 'terminate' | 'retry' | 'rerun' | 'erase'; start: number }
  | { kind: 'set limit'; limit: string; numbers: { concurrency?: number; rate?: number } }
  | { kind: 'pause limit' | 'resume limit' | 'reset limit'; limit: string }
)

/** Starts and acts come before this; then all trouble ends, and pauses and changed limits are lifted. */
export const CALM_AFTER_MS = 120_000
const LAST_ACT_MS = 90_000
const KEYS = ['a', 'b', 'c']

export function generateScenario(random: SeededRandom): Scenario {
  return new Author(random).write()
}

class Author {
  private readonly random: SeededRandom
  private readonly theme: Theme
  private readonly limits: LimitPlan[] = []
  private steps = 0

  constructor(random: SeededRandom) {
    this.random = random
    this.theme = this.one(THEMES)
  }

  write(): Scenario {
    const workflows = [this.workflow('w0', this.theme)]
    if (this.chance(0.25)) workflows.push(this.workflow('w1', this.one(THEMES)))
    const starts = this.starts(workflows)
    const acts = [
      ...this.glances(workflows, starts),
      ...this.pauses(workflows, starts),
      ...this.steering(workflows, starts),
      ...this.changes(workflows),
    ]
    return { theme: this.theme, limits: this.limits, workflows, starts, acts: acts.toSorted((a, b) => a.at - b.at) }
  }

  private workflow(name: string, theme: Theme): WorkflowPlan {
    const plan: WorkflowPlan = { name, isPrioritised: this.chance(0.2), rounds: this.chance(0.1) ? 1 : 0, parts: [] }
    if (theme === 'steps') plan.parts = this.limitedParts()
    else plan.parts = this.chance(0.3) ? this.limitedParts() : [this.plainPart()]
    if (theme === 'runs') this.limitRuns(plan)
    if (theme === 'coalescing') {
      const waitMs = this.one([1_000, 3_000, 8_000])
      if (this.chance(0.5)) plan.debounce = { waitMs, maxMs: waitMs * this.one([1, 3]) }
      else plan.batch = { size: 1 + this.int(4), waitMs, isKeyed: this.chance(0.5) }
      if (this.chance(0.2)) plan.concurrency = [{ limit: 1 + this.int(2), isKeyed: false }]
    }
    if (theme === 'rates') {
      if (this.chance(0.6))
        plan.rate = { limit: 1 + this.int(3), perMs: this.one([5_000, 20_000]), isKeyed: this.chance(0.3) }
      else plan.parts = [this.group('all', this.limit({ isRated: true }))]
    }
    if (theme === 'pauses' && this.chance(0.3))
      plan.concurrency = [{ limit: 1 + this.int(3), isKeyed: this.chance(0.3) }]
    return plan
  }

  private limitRuns(plan: WorkflowPlan): void {
    const kind = this.int(4)
    if (kind === 0) plan.singleton = this.one(['skip', 'cancel-running', 'queue-latest'] as const)
    else if (kind === 1)
      plan.concurrency = [
        { limit: 1 + this.int(2), isKeyed: true },
        { limit: 2 + this.int(2), isKeyed: false },
      ]
    else plan.concurrency = [{ limit: 1 + this.int(2), isKeyed: this.chance(0.4) }]
    if (this.chance(0.15)) plan.rate = { limit: 2, perMs: 5_000, isKeyed: false }
  }

  /** Several steps at one narrow limit, some side by side: one runs while others of the same run are in the queue. */
  private limitedParts(): Part[] {
    const limit = this.limit({ isRated: this.chance(0.15) })
    const parts: Part[] = [this.group(this.one(['seq', 'all', 'all', 'race']), limit)]
    if (this.chance(0.4))
      parts.unshift({ kind: 'sleep', name: `nap${++this.steps}`, ms: this.one([300, 2_000, 12_000]) })
    if (this.chance(0.3)) parts.push(this.group(this.one(['seq', 'all']), this.chance(0.5) ? limit : undefined))
    return parts
  }

  private plainPart(): Part {
    return this.chance(0.2)
      ? { kind: 'sleep', name: `nap${++this.steps}`, ms: this.one([500, 4_000, 15_000]) }
      : this.group('seq', undefined)
  }

  private group(kind: 'seq' | 'all' | 'race', limit: number | undefined): Part {
    const count = kind === 'seq' ? 1 + this.int(2) : 2 + this.int(2)
    return { kind, name: `g${++this.steps}`, steps: Array.from({ length: count }, () => this.step(limit)) }
  }

  private step(limit: number | undefined): StepPlan {
    const step: StepPlan = {
      name: `s${++this.steps}`,
      ...(limit !== undefined && this.chance(0.9) && { limit }),
      cost: 1,
      ms: this.one([0, 300, 1_500, 4_000]),
      failures: this.chance(0.35) ? 1 + this.int(2) : 0,
      backoffMs: this.one([200, 500, 2_000, 6_000]),
      isAtMostOnce: false,
      isTask: false,
    }
    const plan = step.limit === undefined ? undefined : this.limits[step.limit]!
    if (plan?.rate !== undefined) step.cost = 1 + this.int(Math.min(3, plan.rate))
    if (this.chance(0.08)) step.breaksUntilMs = this.int(LAST_ACT_MS)
    else if (plan && this.chance(0.12)) {
      step.failures = Math.max(1, step.failures)
      step.rest = { ms: this.one([3_000, 10_000]), isKeyed: plan.isKeyed && this.chance(0.7) }
    } else if (this.chance(0.1)) step.isAtMostOnce = true
    else if (this.chance(0.12)) step.isTask = true
    return step
  }

  /** Named after its numbers: a process knows each name with one set of numbers only. */
  private limit({ isRated }: { isRated: boolean }): number {
    const concurrency = isRated && this.chance(0.6) ? undefined : 1 + (this.chance(0.35) ? 1 : 0)
    const [rate, perMs] = isRated ? [2 + this.int(4), this.one([5_000, 20_000])] : []
    const name = ['sim', concurrency ?? 'any', rate ?? 'any', perMs ?? 'any'].join('-')
    const there = this.limits.findIndex((limit) => limit.name === name)
    if (there >= 0) return there
    const plan = {
      name,
      isKeyed: this.chance(0.25),
      ...(concurrency && { concurrency }),
      ...(rate && perMs && { rate, perMs }),
    }
    return this.limits.push(plan) - 1
  }

  private starts(workflows: WorkflowPlan[]): StartPlan[] {
    const isCoalescing = this.theme === 'coalescing'
    const keys = KEYS.slice(0, isCoalescing && this.chance(0.5) ? 1 : 1 + this.int(3))
    const isBurst = this.chance(0.6)
    const count = isCoalescing ? 6 + this.int(10) : 3 + this.int(8)
    return Array.from({ length: count }, (_, n) => ({
      n,
      at: isBurst ? this.int(isCoalescing ? 600 : 3_000) : this.int(45_000),
      workflow: this.int(workflows.length),
      key: this.one(keys),
      priority: this.int(3),
    }))
  }

  /** Short ones, several in a row, by people who change their minds. */
  private pauses(workflows: WorkflowPlan[], starts: StartPlan[]): Act[] {
    const acts: Act[] = []
    if (!this.chance(this.theme === 'pauses' ? 1 : 0.3)) return acts
    for (let spell = 0; spell <= this.int(2); spell++) {
      const scope = this.scope(workflows, starts)
      const perSecond = this.one([1, 2, 100])
      let at = this.int(this.chance(0.7) ? 8_000 : 40_000)
      const isQuick = this.chance(0.6)
      const isInside = this.chance(0.2)
      for (let i = 0; i <= this.int(3); i++) {
        acts.push({ at, kind: 'pause', scope, isInside })
        at += isQuick ? 200 + this.int(5_000) : 5_000 + this.int(45_000)
        if (at > LAST_ACT_MS) break
        acts.push({ at, kind: 'resume', scope, perSecond, isInside })
        at += 200 + this.int(isQuick ? 4_000 : 20_000)
      }
    }
    return acts
  }

  /** A run is paused while one of its steps executes and others are in the queue, and resumed before that step is tried again. */
  private glances(workflows: WorkflowPlan[], starts: StartPlan[]): Act[] {
    if (this.theme !== 'steps' || !this.chance(0.6)) return []
    const group = workflows[0]!.parts.find((part) => part.kind === 'all')
    const first = starts.filter(({ workflow }) => workflow === 0).toSorted((a, b) => a.at - b.at)[0]
    if (!group || group.kind === 'sleep' || !first) return []
    // Longer than runners go by what they know of pauses.
    const isLong = this.chance(0.5)
    Object.assign(group.steps[0]!, {
      limit: 0,
      ms: isLong ? 11_000 : 4_000,
      failures: 1,
      backoffMs: 6_000,
      isTask: false,
      isAtMostOnce: false,
    })
    delete group.steps[0]!.rest
    delete group.steps[0]!.breaksUntilMs
    const scope: Scope = this.one([{ all: true }, { workflow: 'w0' }, { start: first.n }])
    const at = first.at + 500 + this.int(isLong ? 6_000 : 2_500)
    const resumedAt = first.at + (isLong ? 12_000 : 5_000) + this.int(4_000)
    const isInside = this.chance(0.6)
    return [
      { at, kind: 'pause', scope, isInside },
      { at: resumedAt, kind: 'resume', scope, perSecond: this.one([2, 100]), isInside },
    ]
  }

  private scope(workflows: WorkflowPlan[], starts: StartPlan[]): Scope {
    const kind = this.int(4)
    if (kind === 0) return { all: true }
    return kind === 1 ? { start: this.one(starts).n } : { workflow: this.one(workflows).name }
  }

  private steering(workflows: WorkflowPlan[], starts: StartPlan[]): Act[] {
    const acts: Act[] = []
    for (const { n, at, workflow } of starts) {
      const soon = () => at + this.one([20, 300, 1_500, 5_000, 20_000]) + this.int(400)
      if (this.chance(0.12))
        acts.push({ at: soon(), kind: this.one(['cancel', 'terminate', 'terminate'] as const), start: n })
      if (this.chance(0.06)) acts.push({ at: at + 10_000 + this.int(30_000), kind: 'rerun', start: n })
      if (this.chance(0.1)) acts.push({ at: at + 10_000 + this.int(40_000), kind: 'erase', start: n })
      const breaks = workflows[workflow]!.parts.some(
        (part) => 'steps' in part && part.steps.some((step) => step.breaksUntilMs),
      )
      if (breaks && this.chance(0.7))
        acts.push({ at: at + 20_000 + this.int(LAST_ACT_MS - 70_000), kind: 'retry', start: n })
    }
    return acts.filter((act) => act.at <= LAST_ACT_MS)
  }

  private changes(workflows: WorkflowPlan[]): Act[] {
    if (!this.chance(0.4)) return []
    const names = this.limits.map(({ name }) => name)
    for (const { name, concurrency, rate } of workflows) {
      if (concurrency) names.push(`${name}:concurrency`)
      if (rate) names.push(`${name}:rate`)
    }
    if (names.length === 0) return []
    const limit = this.one(names)
    const plan = this.limits.find(({ name }) => name === limit)
    const isRated = limit.endsWith(':rate') || plan?.rate !== undefined
    const hasSlots = limit.includes(':concurrency') || plan?.concurrency !== undefined
    const numbers = () => ({
      ...(hasSlots && { concurrency: 1 + this.int(4) }),
      ...(isRated && { rate: 3 + this.int(6) }),
    })
    const at = () => this.int(60_000)
    // While most are still in the queue.
    const pausedAt = 1_000 + this.int(8_000)
    return [
      ...(this.chance(0.6) ? [{ at: at(), kind: 'set limit' as const, limit, numbers: numbers() }] : []),
      ...(this.chance(0.3) ? [{ at: at(), kind: 'reset limit' as const, limit }] : []),
      ...(this.chance(0.7)
        ? [
            { at: pausedAt, kind: 'pause limit' as const, limit },
            {
              at: pausedAt + (this.chance(0.3) ? 500 : 10_000) + this.int(30_000),
              kind: 'resume limit' as const,
              limit,
            },
          ]
        : []),
    ]
  }

  private one<T>(choices: readonly T[]): T {
    return choices[this.int(choices.length)]!
  }

  private int(below: number): number {
    return Math.floor(this.random.next() * below)
  }

  private chance(p: number): boolean {
    return this.random.next() < p
  }
}

/** Everything arrives, and nobody dies or stands still. */
export const isQuiet = ({
  crash,
  stall,
  loseWake,
  repeatWake,
  lateWake,
  throttle,
  loseRequest,
  loseAnswer,
  noRoom,
}: Trouble): boolean =>
  crash + stall + loseWake + repeatWake + lateWake + throttle + loseRequest + loseAnswer + noRoom === 0

/** How bad the world is. Three in ten only take their time, so that what needs no crash shows by itself. */
export function generateFlowTrouble(random: SeededRandom): Trouble {
  const some = (most: number) => (random.next() < 0.5 ? 0 : random.next() * most)
  const latency = random.next() < 0.3 ? 0 : Math.round(random.next() * 300)
  const skew = random.next() < 0.5 ? 500 : 0
  const kind = random.next()
  if (kind < 0.3) return { ...NO_TROUBLE, latency, skew }
  // Every call takes seconds, so that others come in between any two of them.
  if (kind < 0.36) return { ...NO_TROUBLE, latency: 500 + Math.round(random.next() * 1_000), skew }
  // An outage: for a while hardly anybody hears of anything.
  if (kind < 0.44) return { ...NO_TROUBLE, latency, skew, loseWake: 0.95 }
  return {
    ...NO_TROUBLE,
    latency,
    skew,
    crash: some(0.1),
    stall: some(random.next() < 0.3 ? 0.3 : 0.06),
    loseWake: some(0.2),
    repeatWake: some(0.3),
    lateWake: some(0.2),
    throttle: some(0.04),
    loseRequest: some(0.02),
    loseAnswer: some(0.03),
    noRoom: some(0.05),
    habits:
      random.next() < 0.5
        ? {}
        : { dynamodb: { ...MOODY.dynamodb, ttlLagMs: [0, 0] }, queue: MOODY.queue, scheduler: MOODY.scheduler },
  }
}
