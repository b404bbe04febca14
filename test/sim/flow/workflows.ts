import {
  type AnyWorkflow,
  type Context,
  FatalError,
  type Limit,
  limit,
  RetryableError,
  StepError,
  StepInterruptedError,
  type StepTools,
  workflow,
} from '../../../sdk/index.ts'
import { START } from '../cloud.ts'
import { CHORE } from '../workers.ts'
import type { Part, Scenario, StepPlan, WorkflowPlan } from './scenario.ts'
import type { FlowWitness, SeenRun, SeenStep } from './witness.ts'

export interface Input {
  n: number
  key: string
  priority: number
  /** A text that is found again wherever its input is stored, and nowhere else. */
  canary: string
  round?: number
}

export const canaryOf = (n: number): string => `canary-${n}-${'tweet'.repeat(3)}-${n}`

/** The workflows of a scenario, as a user would write them. */
export function workflowsOf(scenario: Scenario, witness: FlowWitness): AnyWorkflow[] {
  const limits = scenario.limits.map(({ name, concurrency, rate, perMs }) =>
    limit(name, {
      ...(concurrency !== undefined && { concurrency }),
      ...(rate !== undefined && { rate, per: perMs! }),
    }),
  )
  return scenario.workflows.map(
    (plan) => workflow(plan.name, optionsOf(plan), bodyOf(plan, limits, witness)) as AnyWorkflow,
  )
}

const keyOf = ({ key }: Input): string => key

function optionsOf(plan: WorkflowPlan) {
  const { concurrency, rate, singleton, debounce, batch, isPrioritised } = plan
  return {
    retention: '30d' as const,
    ...(concurrency && {
      concurrency: concurrency.map(({ limit: most, isKeyed }) => ({ limit: most, ...(isKeyed && { key: keyOf }) })),
    }),
    ...(rate && { rateLimit: { limit: rate.limit, per: rate.perMs, ...(rate.isKeyed && { key: keyOf }) } }),
    ...(singleton && { singleton: { key: keyOf, onConflict: singleton } }),
    ...(debounce && { debounce: { key: keyOf, wait: debounce.waitMs, max: debounce.maxMs } }),
    ...(batch && { batch: { size: batch.size, wait: batch.waitMs, ...(batch.isKeyed && { key: keyOf }) } }),
    ...(isPrioritised && { priority: ({ priority }: Input) => priority }),
  }
}

function bodyOf(plan: WorkflowPlan, limits: Limit[], witness: FlowWitness) {
  return async (ctx: Context, given: Input | Input[]): Promise<unknown> => {
    const inputs = Array.isArray(given) ? given : [given]
    const { runId, generation } = ctx.info
    const { key } = inputs[0]!
    const seen = witness.enters(
      runId,
      plan.name,
      key,
      inputs.map(({ n }) => n),
      generation,
    )
    const player = new Player(ctx, seen, key, inputs.map(({ canary }) => canary).join(), generation, limits, witness)
    for (const part of plan.parts) await player.play(part)
    const round = inputs[0]!.round ?? 0
    if (round >= plan.rounds) return inputs.map(({ canary }) => canary)
    const next = inputs.map((input) => ({ ...input, round: round + 1 }))
    return ctx.continueAsNew(Array.isArray(given) ? next : next[0])
  }
}

class Player {
  private readonly ctx: Context
  private readonly run: SeenRun | undefined
  private readonly key: string
  private readonly canary: string
  private readonly generation: number
  private readonly limits: Limit[]
  private readonly witness: FlowWitness

  constructor(
    ctx: Context,
    run: SeenRun | undefined,
    key: string,
    canary: string,
    generation: number,
    limits: Limit[],
    witness: FlowWitness,
  ) {
    this.ctx = ctx
    this.run = run
    this.key = key
    this.canary = canary
    this.generation = generation
    this.limits = limits
    this.witness = witness
  }

  async play(part: Part): Promise<void> {
    const { ctx, run, witness } = this
    if (part.kind === 'sleep') {
      witness.sleeps(run, `${part.name} ${this.generation}`, part.ms)
      await ctx.sleep(part.name, part.ms)
    } else if (part.kind === 'seq') for (const step of part.steps) await this.step(ctx, step)
    else if (part.kind === 'all') await Promise.all(part.steps.map((step) => this.step(ctx, step)))
    else {
      const branches = Object.fromEntries(
        part.steps.map((step) => [step.name, (inner: Context) => this.step(inner, step)]),
      )
      await ctx.race(part.name, branches)
      // The others are withdrawn, and their code is never told.
      for (const step of part.steps) witness.settles(run, run?.steps.get(`${step.name} ${this.generation}`))
    }
  }

  private async step(ctx: Context, plan: StepPlan): Promise<unknown> {
    const { witness, run } = this
    const seen = witness.calls(run, plan, this.generation)
    try {
      const result = await (plan.isTask ? this.task(ctx, plan) : this.plainStep(ctx, plan, seen))
      witness.settles(run, seen)
      return result
    } catch (error) {
      witness.settles(run, seen, 'failed')
      if (error instanceof StepError && error.cause instanceof StepInterruptedError) return 'interrupted'
      throw error
    }
  }

  private limitOf({ limit: index }: StepPlan): Limit | undefined {
    if (index === undefined) return undefined
    return this.witness.scenario.limits[index]!.isKeyed ? this.limits[index]!.for(this.key) : this.limits[index]
  }

  private limited(plan: StepPlan): { limit?: Limit; cost?: number } {
    const wanted = this.limitOf(plan)
    return wanted ? { limit: wanted, cost: plan.cost } : {}
  }

  private task(ctx: Context, plan: StepPlan): Promise<unknown> {
    const input = { name: `${plan.name} ${this.generation}`, failures: plan.failures, ms: plan.ms, canary: this.canary }
    const retry = { attempts: 1_000, initial: '200ms', max: '5s', jitter: false } as const
    return ctx.task(CHORE, input, { name: plan.name, retry, heartbeatTimeout: '15s', ...this.limited(plan) })
  }

  private plainStep(ctx: Context, plan: StepPlan, seen: SeenStep | undefined): Promise<unknown> {
    const attempts = plan.failures + 1
    return ctx.step(plan.name, (tools) => this.body(plan, seen!, tools), {
      retry: { attempts, initial: plan.backoffMs, jitter: false },
      ...(plan.isAtMostOnce && { semantics: 'at-most-once' as const }),
      ...this.limited(plan),
    })
  }

  private async body(plan: StepPlan, seen: SeenStep, { attempt, signal }: StepTools): Promise<string> {
    const { witness, run } = this
    await witness.execute(run!, seen, attempt, signal)
    if (witness.now < START + (plan.breaksUntilMs ?? 0)) throw new FatalError(`${plan.name} is broken`)
    if (attempt > plan.failures) return this.canary
    if (plan.rest && attempt === 1) {
      const { ms, isKeyed } = plan.rest
      witness.restsFor(seen.gate!, isKeyed, ms)
      witness.failsUntil(seen, ms)
      const whole = this.limits[plan.limit!]!
      throw new RetryableError('429', { after: ms, limit: isKeyed ? this.limitOf(plan)! : whole })
    }
    witness.failsUntil(seen, plan.backoffMs * 2 ** (attempt - 1))
    throw new Error(`${plan.name} fails ${attempt}`)
  }
}
