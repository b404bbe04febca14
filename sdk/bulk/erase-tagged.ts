import { asError } from '../base/error-records.ts'
import type { Needs } from '../client/retrying.ts'
import type { Context } from '../context.ts'
import { inParallel } from '../rules/procedure.ts'
import { type Workflow, workflow } from '../workflow.ts'

export interface EraseTagged {
  tag: string
  /** Only runs of this workflow. */
  workflow?: string
  /** Ends those that have not ended, and erases them too. */
  terminate?: boolean
}

export interface ErasedTagged {
  erased: number
  /** How many have not ended and were not changed; `runs` names some of them. */
  open: number
  openRuns: string[]
  /** How many could not be erased just now, and why for one of them. */
  failed?: number
  failure?: string
}

type State = EraseTagged &
  Partial<ErasedTagged> & { cursor?: string; hasTerminated?: boolean; hasErasedFormer?: boolean; erasedInPass?: number }

const ERASE_TAGGED = 'overwinter erase'

const PAGE = 100
/** The journal's length is bounded by this many pages. */
const PAGES = 50
const NAMED = 20

/**
 * A run that erases all runs with a tag, page by page. It can be killed, awaited and cancelled as any other,
 * and erasing twice is harmless.
 */
export function eraseTagged(world: Needs): Workflow<EraseTagged, ErasedTagged> {
  return workflow(ERASE_TAGGED, async (ctx, state: State): Promise<ErasedTagged> => {
    if (state.terminate && !state.hasTerminated) return terminateAll(ctx, world, state)
    if (!state.hasErasedFormer && state.workflow === undefined) return eraseFormer(ctx, world, state)
    let { cursor, erased = 0, open = 0, openRuns = [], failed = 0, failure, erasedInPass = 0 } = state
    for (let page = 0; page < PAGES; page++) {
      const from = cursor
      const done = await ctx.step('erase', () => erasePage(world, state, from))
      erased += done.erased
      erasedInPass += done.erased
      open += done.open.length
      openRuns = [...openRuns, ...done.open].slice(0, NAMED)
      failed += done.failed
      failure = done.failure ?? failure
      cursor = done.cursor
      if (cursor !== undefined) continue
      if (erasedInPass === 0)
        return { erased, open, openRuns, ...(failed > 0 && { failed, ...(failure !== undefined && { failure }) }) }
        // An index may lag, and a caller may have started more: repeat until nothing is left to erase.
      ;[erasedInPass, open, openRuns, failed, failure] = [0, 0, [], 0, undefined]
    }
    return ctx.continueAsNew({ ...state, cursor, erased, open, openRuns, failed, failure, erasedInPass })
  })
}

async function terminateAll(ctx: Context, world: Needs, state: State): Promise<never> {
  let { cursor } = state
  for (let page = 0; page < PAGES; page++) {
    const from = cursor
    cursor = (await ctx.step('terminate', () => terminatePage(world, state, from))).cursor
    if (cursor !== undefined) continue
    // A runner that holds one may still write for it, for as long as Lambda's timeout.
    await ctx.sleep('until no runner has them any more', '15m')
    return ctx.continueAsNew({ ...state, cursor: undefined, hasTerminated: true })
  }
  return ctx.continueAsNew({ ...state, cursor })
}

/** Erases what is left of runs that are in no list any more. */
async function eraseFormer(ctx: Context, { store }: Needs, state: State): Promise<never> {
  let { cursor, erased = 0 } = state
  for (let page = 0; page < PAGES; page++) {
    const from = cursor
    const done = await ctx.step('erase former', () => store.eraseFormer(state.tag, from))
    erased += done.erased
    cursor = done.cursor
    if (cursor === undefined) return ctx.continueAsNew({ ...state, cursor, erased, hasErasedFormer: true })
  }
  return ctx.continueAsNew({ ...state, cursor, erased })
}

interface ErasedPage {
  erased: number
  open: string[]
  failed: number
  failure?: string
  cursor: string | undefined
}

async function erasePage(world: Needs, filter: EraseTagged, cursor: string | undefined): Promise<ErasedPage> {
  const { runs, cursor: next } = await pageOf(world, filter, cursor)
  let failure: string | undefined
  const outcomes = await inParallel(runs, ({ runId }) =>
    // A run that cannot be erased must not block the others.
    world.store.erase(runId).catch((error: unknown): 'failed' => {
      failure = `run '${runId}': ${asError(error).message}`
      return 'failed'
    }),
  )
  const count = (wanted: (typeof outcomes)[number]) => outcomes.filter((outcome) => outcome === wanted).length
  const open = runs.filter((_, i) => outcomes[i] === 'open').map(({ runId }) => runId)
  return {
    erased: count('erased'),
    open,
    failed: count('failed'),
    ...(failure !== undefined && { failure }),
    cursor: next,
  }
}

async function terminatePage(
  world: Needs,
  filter: EraseTagged,
  cursor: string | undefined,
): Promise<{ cursor: string | undefined }> {
  const { runs, cursor: next } = await pageOf(world, filter, cursor)
  await inParallel(
    runs.filter(({ endedAt }) => endedAt === undefined),
    async ({ runId }) =>
      world.wakeups.send((await world.store.terminate(runId, `everything tagged '${filter.tag}' is erased`)).wakes),
  )
  return { cursor: next }
}

const pageOf = ({ store }: Needs, { tag, workflow }: EraseTagged, cursor: string | undefined) =>
  store.list({ tag, limit: PAGE, ...(workflow !== undefined && { workflow }), ...(cursor !== undefined && { cursor }) })
