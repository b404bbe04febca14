import type { Context } from '../context.ts'
import type { World } from '../ports.ts'
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
  /** How many have not ended, and are as they were; some of them by their ids. */
  open: number
  openRuns: string[]
}

type State = EraseTagged & Partial<ErasedTagged> & { cursor?: string; hasTerminated?: boolean; erasedInPass?: number }

export const ERASE_TAGGED = 'overwinter erase'

type Needs = Pick<World, 'store' | 'wakeups'>

const PAGE = 100
/** A journal of this many pages is long enough. */
const PAGES = 50
const NAMED = 20

/** A run that erases all runs with a tag, page by page. It can be killed, waited for and cancelled as any other, and erasing twice is harmless. */
export function eraseTagged(world: Needs): Workflow<EraseTagged, ErasedTagged> {
  return workflow(ERASE_TAGGED, async (ctx, state: State): Promise<ErasedTagged> => {
    if (state.terminate && !state.hasTerminated) return terminateAll(ctx, world, state)
    let { cursor, erased = 0, open = 0, openRuns = [], erasedInPass = 0 } = state
    for (let page = 0; page < PAGES; page++) {
      const from = cursor
      const done = await ctx.step('erase', () => erasePage(world, state, from))
      erased += done.erased
      erasedInPass += done.erased
      open += done.open.length
      openRuns = [...openRuns, ...done.open].slice(0, NAMED)
      cursor = done.cursor
      if (cursor !== undefined) continue
      if (erasedInPass === 0)
        return { erased, open, openRuns }
        // An index may be a little behind, and somebody may have started more: until nothing is left to erase.
      ;[erasedInPass, open, openRuns] = [0, 0, []]
    }
    return ctx.continueAsNew({ ...state, cursor, erased, open, openRuns, erasedInPass })
  })
}

async function terminateAll(ctx: Context, world: Needs, state: State): Promise<never> {
  let { cursor } = state
  for (let page = 0; page < PAGES; page++) {
    const from = cursor
    cursor = (await ctx.step('terminate', () => terminatePage(world, state, from))).cursor
    if (cursor !== undefined) continue
    // A runner that has one in its hands may still write for it, as long as Lambda lets it.
    await ctx.sleep('until no runner has them any more', '15m')
    return ctx.continueAsNew({ ...state, cursor: undefined, hasTerminated: true })
  }
  return ctx.continueAsNew({ ...state, cursor })
}

async function erasePage(
  world: Needs,
  filter: EraseTagged,
  cursor: string | undefined,
): Promise<{ erased: number; open: string[]; cursor: string | undefined }> {
  const { runs, cursor: next } = await pageOf(world, filter, cursor)
  const outcomes = await inParallel(runs, ({ runId }) => world.store.erase(runId))
  const open = runs.filter((_, i) => outcomes[i] === 'open').map(({ runId }) => runId)
  return { erased: outcomes.filter((outcome) => outcome === 'erased').length, open, cursor: next }
}

async function terminatePage(world: Needs, filter: EraseTagged, cursor: string | undefined): Promise<{ cursor: string | undefined }> {
  const { runs, cursor: next } = await pageOf(world, filter, cursor)
  await inParallel(
    runs.filter(({ endedAt }) => endedAt === undefined),
    async ({ runId }) => world.wakeups.send((await world.store.terminate(runId, `everything tagged '${filter.tag}' is erased`)).wakes),
  )
  return { cursor: next }
}

const pageOf = ({ store }: Needs, { tag, workflow }: EraseTagged, cursor: string | undefined) =>
  store.list({ tag, limit: PAGE, ...(workflow !== undefined && { workflow }), ...(cursor !== undefined && { cursor }) })
