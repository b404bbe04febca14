import { FatalError } from '../../sdk/engine/errors.ts'
import type { SeededRandom } from '../../sdk/engine/random.ts'
import { type Context, StepError, StepInterruptedError, signal, workflow } from '../../sdk/index.ts'
import { CHORE } from './workers.ts'

/** A workflow as data, so that a seed can make one up and anybody can read it. */
export type Node =
  /** `outside`: a worker does it. */
  | { kind: 'step'; name: string; failures: number; ms: number; atMostOnce?: true; outside?: true }
  | { kind: 'sleep'; name: string; ms: number }
  | { kind: 'wait'; name: string; timeout?: number }
  | { kind: 'child'; name: string; body: Node }
  | { kind: 'seq' | 'all' | 'race'; name: string; items: Node[] }
  /** A step that fails for good, and what is done about it. */
  | { kind: 'catch'; name: string; handler: Node }
  | { kind: 'undo'; name: string }

export interface Program {
  root: Node
  /** How often it continues as new. */
  rounds: number
  /** The same result whatever happens to it: no races, timeouts or at-most-once steps. */
  isDeterministic: boolean
  /** Names of the signals it waits for, in each round. */
  signals: string[]
  /** Cancelled after so long, if at all. */
  cancelAfter?: number
}

/** What the bodies of steps do; the simulator watches them. */
export interface Effects {
  run(name: string, key: string, attempt: number, ms: number): Promise<void>
}

export function generate(random: SeededRandom): Program {
  const int = (below: number) => Math.floor(random.next() * below)
  const chance = (p: number) => random.next() < p
  const loose = chance(0.35)
  const program: Program = { root: { kind: 'seq', name: 'root', items: [] }, rounds: chance(0.2) ? 1 + int(2) : 0, isDeterministic: true, signals: [] }
  let serial = 0
  const name = () => (chance(0.1) ? 'again' : `n${++serial}`)
  const duration = () => [1, 400, 2_000, 30_000, 600_000, 7_200_000][int(6)]! + int(50)

  const node = (depth: number, inChild: boolean): Node => {
    const roll = int(100)
    if (depth > 0 && roll < 40) {
      const kind = roll < 15 ? 'seq' : roll < 32 || !loose ? 'all' : 'race'
      if (kind === 'race') program.isDeterministic = false
      return { kind, name: name(), items: Array.from({ length: 1 + int(3) }, () => node(depth - 1, inChild)) }
    }
    if (depth > 0 && !inChild && roll < 47) return { kind: 'child', name: name(), body: node(depth - 1, true) }
    if (depth > 0 && roll < 52) return { kind: 'catch', name: name(), handler: node(depth - 1, inChild) }
    if (roll < 65) return { kind: 'sleep', name: name(), ms: duration() }
    if (roll < 82 && !inChild) {
      const wait: Node = { kind: 'wait', name: `signal${program.signals.length}` }
      program.signals.push(wait.name)
      if (loose && chance(0.5)) {
        wait.timeout = duration()
        program.isDeterministic = false
      }
      return wait
    }
    if (roll < 85) return { kind: 'undo', name: name() }
    const step: Node = { kind: 'step', name: name(), failures: chance(0.25) ? 1 + int(2) : 0, ms: chance(0.5) ? int(8_000) : 0 }
    if (loose && chance(0.2)) {
      step.atMostOnce = true
      program.isDeterministic = false
    } else if (chance(0.25)) step.outside = true
    return step
  }
  program.root = { kind: 'seq', name: 'root', items: Array.from({ length: 1 + int(4) }, () => node(3, false)) }
  if (chance(0.15)) {
    program.cancelAfter = duration()
    program.isDeterministic = false
  }
  return program
}

/** A worker that dies costs an attempt; however many do, the task is done in the end. */
const PATIENT = { retry: { attempts: 1_000, initial: '200ms', max: '20s', jitter: false }, heartbeatTimeout: '15s' } as const

interface Input {
  root: Node
  rounds: number
}

/** The one workflow that interprets every program. */
export function interpreter(effects: Effects) {
  const play = workflow('play', async (ctx, input: Input): Promise<unknown> => {
    const result = await visit(ctx, input.root)
    if (input.rounds > 0) return ctx.continueAsNew({ ...input, rounds: input.rounds - 1 })
    return result
  })

  const visit = async (ctx: Context, node: Node): Promise<unknown> => {
    switch (node.kind) {
      case 'step':
        if (node.outside) return ctx.task(CHORE, { name: node.name, failures: node.failures, ms: node.ms }, { name: node.name, ...PATIENT })
        return ctx
          .step(
            node.name,
            async ({ attempt, idempotencyKey }) => {
              await effects.run(node.name, idempotencyKey, attempt, node.ms)
              if (attempt <= node.failures) throw new Error(`${node.name} fails ${attempt}`)
              return `${node.name} ok`
            },
            {
              retry: { attempts: node.failures + 1, initial: node.failures > 1 ? '20s' : '200ms', jitter: false },
              ...(node.atMostOnce && { semantics: 'at-most-once' as const }),
            },
          )
          .catch((error: unknown) => {
            if (error instanceof StepError && error.cause instanceof StepInterruptedError) return 'interrupted'
            throw error
          })
      case 'sleep':
        await ctx.sleep(node.name, node.ms)
        return 'slept'
      case 'wait':
        return (await ctx.waitFor(signal<string>(node.name), node.timeout === undefined ? {} : { timeout: node.timeout })) ?? 'timed out'
      case 'child':
        return ctx.scope(node.name, (inner) => inner.run(play, { root: node.body, rounds: 0 }))
      case 'seq': {
        const results: unknown[] = []
        for (const item of node.items) results.push(await visit(ctx, item))
        return results
      }
      case 'all':
        return Promise.all(node.items.map((item) => visit(ctx, item)))
      case 'race':
        return Promise.race(node.items.map((item) => visit(ctx, item)))
      case 'catch':
        try {
          await ctx.step(node.name, async ({ attempt, idempotencyKey }) => {
            await effects.run(node.name, idempotencyKey, attempt, 0)
            throw new FatalError('for good')
          })
          return 'unreachable'
        } catch (error) {
          if (!(error instanceof StepError)) throw error
          return ['caught', await visit(ctx, node.handler)]
        }
      case 'undo':
        ctx.compensate(node.name, ({ attempt, idempotencyKey }) => effects.run(`undo ${node.name}`, idempotencyKey, attempt, 0))
        return 'undo kept'
    }
  }
  return play
}
