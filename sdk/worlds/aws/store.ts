import type { ErrorRecord, EventOf, Frame } from '../../engine/events.ts'
import type { Claimed, Commit, CommitResult, DeliverResult, Lease, Message, NewRun, RunFilter, RunPage, RunRecord, RunStore, Wake } from '../../ports.ts'
import type { Aws } from './context.ts'
import { loadFrames } from './journal.ts'
import { claimRun } from './operations/claim.ts'
import { commitRun } from './operations/commit.ts'
import { createRun } from './operations/create.ts'
import { deliverMessage } from './operations/deliver.ts'
import { readInbox } from './operations/inbox.ts'
import { listRuns } from './operations/list.ts'
import { overdueRuns } from './operations/overdue.ts'
import { parkRun } from './operations/park.ts'
import { renewLease } from './operations/renew.ts'
import { reviveRun } from './operations/revive.ts'
import { terminateRun } from './operations/terminate.ts'
import { getRunItem } from './partition.ts'
import { toRecord } from './run-item.ts'
import { watchRun } from './watch.ts'

/** Runs, journals and inboxes in one DynamoDB table; each operation has a file of its own. */
export class DynamoRunStore implements RunStore {
  private readonly aws: Aws

  constructor(aws: Aws) {
    this.aws = aws
  }

  create(run: NewRun): Promise<{ created: boolean; run: RunRecord; wakes: Wake[] }> {
    return createRun(this.aws, run)
  }

  async get(runId: string): Promise<RunRecord | undefined> {
    const item = await getRunItem(this.aws, runId)
    return item && toRecord(this.aws, item)
  }

  list(filter: RunFilter): Promise<RunPage> {
    return listRuns(this.aws, filter)
  }

  async frames(runId: string): Promise<Frame[]> {
    const item = await getRunItem(this.aws, runId)
    return item ? loadFrames(this.aws, item, { heading: true }) : []
  }

  deliver(runId: string, message: Message): Promise<DeliverResult> {
    return deliverMessage(this.aws, runId, message)
  }

  claim(runId: string, lease: Lease): Promise<Claimed | undefined> {
    return claimRun(this.aws, runId, lease)
  }

  renew(runId: string, epoch: number, lease: Lease, heartbeat?: RunRecord['heartbeat']): Promise<{ stimulus: number } | undefined> {
    return renewLease(this.aws, runId, epoch, lease, heartbeat)
  }

  inbox(runId: string): Promise<{ stimulus: number; messages: Message[] }> {
    return readInbox(this.aws, runId)
  }

  commit(commit: Commit): Promise<CommitResult> {
    return commitRun(this.aws, commit)
  }

  terminate(runId: string, reason: string): Promise<{ ended: boolean; wakes: Wake[] }> {
    return terminateRun(this.aws, runId, reason)
  }

  revive(runId: string, event?: EventOf<'run.retried'>): Promise<{ revived: boolean; wakes: Wake[] }> {
    return reviveRun(this.aws, runId, event)
  }

  park(runId: string, error: ErrorRecord): Promise<'parked' | 'leased' | 'moved-on'> {
    return parkRun(this.aws, runId, error)
  }

  overdue(before: number, limit: number): Promise<Wake[]> {
    return overdueRuns(this.aws, before, limit)
  }

  watch(runId: string, onChange: () => void): () => void {
    return watchRun(this.aws, runId, onChange)
  }
}
