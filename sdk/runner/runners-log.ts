import type { World } from '../ports/world.ts'

/** One line a second at most: a thousand runs that meet the same full disk are one piece of news. */
const EVERY_MS = 1_000

/** What a runner says of runs that it could not take further. */
export class RunnersLog {
  private readonly world: Pick<World, 'log' | 'clock'>
  private kept: { count: number; runId: string | undefined; error: unknown } | undefined
  private isQuietUntil = Number.NEGATIVE_INFINITY
  private cancel: (() => void) | undefined

  constructor(world: Pick<World, 'log' | 'clock'>) {
    this.world = world
  }

  failed(runId: string | undefined, error: unknown): void {
    this.kept = { count: (this.kept?.count ?? 0) + 1, runId, error }
    const now = this.world.clock.now()
    if (now >= this.isQuietUntil) this.say()
    else this.cancel ??= this.world.clock.at(this.isQuietUntil, () => this.say())
  }

  close(): void {
    if (this.kept) this.say()
  }

  private say(): void {
    this.cancel?.()
    this.cancel = undefined
    const { kept } = this
    if (!kept) return
    this.kept = undefined
    this.isQuietUntil = this.world.clock.now() + EVERY_MS
    const { runId, error, count } = kept
    const what = runId === undefined ? 'the database could not be read' : `run '${runId}' could not be taken further`
    const more = count > 1 ? ` (and ${count - 1} times more in this second, with this run or others)` : ''
    this.world.log('error', `${what}: ${error instanceof Error ? error.message : error}${more}`, {
      ...(runId !== undefined && { runId }),
    })
  }
}
