import { runIdOf } from './keys.ts'
import type { RunItem } from './run-item.ts'

/** A process has few claims at a time; more than this can only be left over from runners that threw. */
const MOST = 10_000

/** The runs that this process has claimed, as they were then: a commit names only run and epoch. */
export class Claims {
  private readonly held = new Map<string, RunItem>()

  remember(item: RunItem): void {
    this.held.set(key(runIdOf(item.pk), item.epoch), item)
    if (this.held.size > MOST) this.held.delete(this.held.keys().next().value!)
  }

  find(runId: string, epoch: number): RunItem | undefined {
    return this.held.get(key(runId, epoch))
  }

  forget(runId: string, epoch: number): void {
    this.held.delete(key(runId, epoch))
  }
}

const key = (runId: string, epoch: number): string => `${epoch} ${runId}`
