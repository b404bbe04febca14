import type { Aws } from './context.ts'
import { runIdOf } from './keys.ts'
import { getRunItem } from './partition.ts'
import type { RunItem } from './run-item.ts'

/** Claims under way in one process are few; more than this can only be left over from runners that threw. */
const MOST = 10_000

/** The runs that this process has claimed, as they were then: a commit names only run and epoch. */
export class Claims {
  private readonly held = new Map<string, RunItem>()

  remember(item: RunItem): void {
    this.held.set(key(runIdOf(item.pk), item.epoch), item)
    if (this.held.size > MOST) this.held.delete(this.held.keys().next().value!)
  }

  /** The claim of that epoch, also if another process made it; undefined if there is a newer one. */
  async find(aws: Aws, runId: string, epoch: number): Promise<RunItem | undefined> {
    const known = this.held.get(key(runId, epoch))
    if (known) return known
    const item = await getRunItem(aws, runId)
    return item?.epoch === epoch && item.claim !== undefined ? item : undefined
  }

  forget(runId: string, epoch: number): void {
    this.held.delete(key(runId, epoch))
  }
}

const key = (runId: string, epoch: number): string => `${epoch} ${runId}`
