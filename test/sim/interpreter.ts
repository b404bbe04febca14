import { FatalError } from '../../sdk/base/errors.ts'
import { SeededRandom } from '../../sdk/base/random.ts'
import type { Schema } from '../../sdk/base/schema.ts'
import {
  type AnyWorkflow,
  type CheckTools,
  type Context,
  limit,
  request,
  StepError,
  StepInterruptedError,
  type StepOptions,
  type StepTools,
  signal,
  workflow,
} from '../../sdk/index.ts'
import { type ChildNode, isAsked, type Node, type StepNode } from './program.ts'
import { TICK } from './timetable.ts'
import { CHORE } from './workers.ts'

/** What the bodies of steps do; the simulator watches them. */
export interface Effects {
  /** `owner`: the one operation that may have this key. `seen`: the owners of steps whose results its code has seen. */
  run(effect: {
    owner: string
    seen: readonly string[]
    key: string
    attempt: number
    ms: number
    isAtMostOnce: boolean /** Of a body that is inside a limit: aborted when nobody waits for it any more. */
    limited?: AbortSignal
  }): Promise<void>
  /** Somebody outside gets the token. */
  handOut(callback: { owner: string; token: string; isChecked: boolean; runId: string }): void
  isMended(): boolean
}

/** A worker that dies costs an attempt; however many do, the task is done in the end. */
const PATIENT = {
  retry: { attempts: 1_000, initial: '200ms', max: '20s', jitter: false },
  heartbeatTimeout: '15s',
} as const
const HANGS_FOR_MS = 20_000
/** Some steps and tasks go one at a time, in all runs together; and so do those runs that begin anew when they fail. */
const NARROW = limit('narrow', { concurrency: 1 })
const isLimited = ({ at, hangs, asks }: StepNode & { at: number }): boolean => at % 3 !== 0 && !hangs && !asks

/** Why a run fails that people are to let go on. */
export const BROKEN = 'broken, until somebody mends it'

export interface Input {
  root: Node
  rounds: number
  /** In how many attempts of the whole it fails. */
  fails?: number
}

const isText: Schema<unknown, string> = {
  '~standard': {
    version: 1,
    vendor: 'simulator',
    validate: (value) => (typeof value === 'string' ? { value } : { issues: [{ message: 'is no text' }] }),
  },
}

/** The workflows that interpret every program, in the version of one deployment. */
export function interpreter(effects: Effects, options: { version: number; retention: number }): AnyWorkflow[] {
  const body = async (ctx: Context, input: Input): Promise<unknown> => {
    const result = await new Interpretation(effects, play, stubborn).visit(ctx, input.root, '')
    if (ctx.info.attempt <= (input.fails ?? 0)) throw new Error(`the whole fails, attempt ${ctx.info.attempt}`)
    if (input.rounds > 0) return ctx.continueAsNew({ ...input, rounds: input.rounds - 1 })
    return result
  }
  const play: AnyWorkflow = workflow('play', { ...options, retention: options.retention }, body)
  const stubborn: AnyWorkflow = workflow(
    'stubborn',
    { ...options, retry: { attempts: 5, initial: '10s', jitter: false }, concurrency: { limit: 1 } },
    body,
  )
  const tick = workflow(TICK, { version: options.version }, (ctx) => {
    const owner = `${ctx.info.runId} ${ctx.info.generation}`
    return ctx.step('tick', ({ attempt, idempotencyKey: key }) =>
      effects.run({ owner, seen: [], key, attempt, ms: 0, isAtMostOnce: false }),
    )
  })
  return [play, stubborn, tick as AnyWorkflow]
}

class Interpretation {
  private readonly effects: Effects
  private readonly play: AnyWorkflow
  private readonly stubborn: AnyWorkflow
  private readonly seen: string[] = []

  constructor(effects: Effects, play: AnyWorkflow, stubborn: AnyWorkflow) {
    this.effects = effects
    this.play = play
    this.stubborn = stubborn
  }

  private async request(ctx: Context, { name, timeout }: Extract<Node, { kind: 'wait' }>): Promise<unknown> {
    const asked = await ctx.waitFor(request<string, string>(name), timeout === undefined ? {} : { timeout })
    asked?.reply(`${name} replied ${ctx.uuid()}`)
    return asked?.payload ?? 'timed out'
  }

  /** `path`: where among the scopes of maps. */
  async visit(ctx: Context, node: Node, path: string): Promise<unknown> {
    const owner = `${ctx.info.runId} ${ctx.info.generation} ${node.at}${path}`
    switch (node.kind) {
      case 'step': {
        const result = node.outside ? await this.task(ctx, node) : await this.step(ctx, node, owner)
        if (!node.outside) this.seen.push(owner)
        return result
      }
      case 'sleep':
        await ctx.sleep(node.name, node.ms)
        return 'slept'
      case 'wait':
        if (isAsked(node.name)) return this.request(ctx, node)
        return (
          (await ctx.waitFor(signal<string>(node.name), node.timeout === undefined ? {} : { timeout: node.timeout })) ??
          'timed out'
        )
      case 'callback':
        return this.callback(ctx, node, owner)
      case 'child':
        return ctx.scope(node.name, (inner) => this.child(inner, node, owner))
      case 'seq': {
        const results: unknown[] = []
        for (const item of node.items) results.push(await this.visit(ctx, item, path))
        return results
      }
      case 'all':
        return Promise.all(node.items.map((item) => this.visit(ctx, item, path)))
      case 'race':
        if (node.at % 2 === 0) return Promise.race(node.items.map((item) => this.visit(ctx, item, path)))
        return (
          await ctx.race(
            node.name,
            Object.fromEntries(
              node.items.map((item) => [`b${item.at}`, (inner: Context) => this.visit(inner, item, path)]),
            ),
          )
        ).value
      case 'map': {
        const items = Array.from({ length: node.count }, (_, i) => i)
        const each = (inner: Context, i: number) => this.visit(inner, node.body, `${path}/${node.at}.${i}`)
        if (node.need === undefined) return ctx.map(node.name, items, each, { concurrency: node.atOnce })
        const { reason, results } = await ctx.map(node.name, items, each, {
          concurrency: node.atOnce,
          need: node.need,
          key: String,
        })
        return [reason, ...results.map(({ status }) => status)]
      }
      case 'catch':
        return this.caught(ctx, node.name, node.handler, owner, path)
      case 'undo':
        ctx.compensate(node.name, ({ attempt, idempotencyKey: key }) =>
          this.effects.run({ owner: `${owner} undo`, seen: [], key, attempt, ms: 0, isAtMostOnce: false }),
        )
        return 'undo kept'
      case 'patch':
        return ctx.patched(node.name) ? this.visit(ctx, node.body, path) : 'not patched'
      case 'progress':
        ctx.progress(noise(node.name, node.size))
        return 'shown'
      case 'broken':
        return ctx.step(node.name, async ({ attempt, idempotencyKey: key }) => {
          await this.effects.run({ owner, seen: [], key, attempt, ms: 0, isAtMostOnce: false })
          if (!this.effects.isMended()) throw new FatalError(BROKEN)
          return 'mended'
        })
    }
  }

  private step(ctx: Context, node: StepNode & { at: number; name: string }, owner: string): Promise<unknown> {
    const options: StepOptions = {
      retry: {
        attempts: node.failures + (node.hangs ? 2 : 1),
        initial: node.failures > 1 ? '20s' : '200ms',
        jitter: false,
      },
      ...(node.atMostOnce && { semantics: 'at-most-once' as const }),
      ...(isLimited(node) && { limit: NARROW }),
      ...(node.hangs && { timeout: HANGS_FOR_MS / 4 + node.ms }),
    }
    const seen = [...this.seen]
    if (node.asks) return this.until(ctx, node, owner, seen)
    return ctx
      .step(node.name, (tools) => this.body(node, tools, owner, seen), options)
      .catch((error: unknown) => {
        if (error instanceof StepError && error.cause instanceof StepInterruptedError) return 'interrupted'
        throw error
      })
  }

  private until(
    ctx: Context,
    node: StepNode & { name: string },
    owner: string,
    seen: readonly string[],
  ): Promise<unknown> {
    const check = async ({ round, idempotencyKey: key }: CheckTools) => {
      await this.effects.run({ owner, seen, key, attempt: 1, ms: node.ms, isAtMostOnce: false })
      return round >= 3 && `${node.name} came true`
    }
    return ctx.until(node.name, check, { every: node.pauses! })
  }

  private async body(
    node: StepNode & { at: number; name: string },
    tools: StepTools,
    owner: string,
    seen: readonly string[],
  ): Promise<unknown> {
    const { attempt, idempotencyKey: key } = tools
    const ms = node.hangs && attempt === 1 ? node.ms + HANGS_FOR_MS : node.ms
    await this.effects.run({
      owner,
      seen,
      key,
      attempt,
      ms,
      isAtMostOnce: node.atMostOnce === true,
      ...(isLimited(node) && { limited: tools.signal }),
    })
    if (node.checkpoints && tools.lastCheckpoint === undefined) await tools.checkpoint(`${node.name} half done`)
    if (node.pauses !== undefined && tools.lastCheckpoint === undefined)
      await tools.pause('breath', node.pauses, `${node.name} paused`)
    if (attempt <= node.failures) throw new Error(`${node.name} fails ${attempt}`)
    const result = `${node.name} ok${node.pauses === undefined ? '' : ` after ${tools.lastCheckpoint}`}`
    return node.size === undefined ? result : noise(result, node.size)
  }

  private task(ctx: Context, node: StepNode & { at: number; name: string }): Promise<unknown> {
    const { name, failures, ms } = node
    return ctx.task(CHORE, { name, failures, ms }, { name, ...PATIENT, ...(isLimited(node) && { limit: NARROW }) })
  }

  private async callback(ctx: Context, node: Extract<Node, { kind: 'callback' }>, owner: string): Promise<unknown> {
    const { token, promise } = ctx.callback(node.name, {
      ...(node.timeout !== undefined && { timeout: node.timeout }),
      ...(node.isChecked && { schema: isText }),
    })
    this.effects.handOut({ owner, token, isChecked: node.isChecked === true, runId: ctx.info.runId })
    return promise.catch((error: Error) => {
      if (error.name === 'TimeoutError') return 'not called'
      throw error
    })
  }

  private async child(ctx: Context, node: ChildNode & { at: number }, owner: string): Promise<unknown> {
    const input: Input = {
      root: node.body,
      rounds: 0,
      ...(node.attempts !== undefined && { fails: node.attempts - 1 }),
    }
    const target = node.attempts === undefined ? this.play : this.stubborn
    const id = node.hasOwnId ? { id: `own-${owner.replaceAll(/[ /]/g, '-')}` } : {}
    if (node.detached) {
      await ctx.run(target, input, { ...id, detached: true })
      return 'left alone'
    }
    return ctx.run(target, input, { ...id, ...(node.abandon && { onParentEnd: 'abandon' as const }) })
  }

  private async caught(ctx: Context, name: string, handler: Node, owner: string, path: string): Promise<unknown> {
    try {
      await ctx.step(name, async ({ attempt, idempotencyKey: key }) => {
        await this.effects.run({ owner, seen: [], key, attempt, ms: 0, isAtMostOnce: false })
        throw new FatalError('for good')
      })
      return 'unreachable'
    } catch (error) {
      if (!(error instanceof StepError)) throw error
      return ['caught', await this.visit(ctx, handler, path)]
    }
  }
}

/** Text of a length that does not get much smaller when it is compressed, and is the same every time. */
function noise(about: string, length: number): string {
  const known = noises.get(`${length} ${about}`)
  if (known !== undefined) return known
  const random = new SeededRandom(about)
  let text = `${about} `
  while (text.length < length) text += random.uuid()
  text = text.slice(0, Math.max(length, about.length))
  if (noises.size > 200) noises.clear()
  noises.set(`${length} ${about}`, text)
  return text
}
const noises = new Map<string, string>()
