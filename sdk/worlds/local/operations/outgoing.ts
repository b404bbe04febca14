import type { Outgoing, Wake } from '../../../ports.ts'
import type { Database } from '../database.ts'
import { createRun } from './create.ts'
import { deliverMessage } from './deliver.ts'
import { terminateRun } from './end.ts'
import { dispatchTask, withdrawTask } from './tasks.ts'

/** Here one transaction covers sender and receivers, so nothing can get lost between them. */
export function sendOutgoing(db: Database, from: string, outgoing: readonly Outgoing[], now: number): { wakes: Wake[]; touched: string[] } {
  const wakes: Wake[] = []
  const touched: string[] = []
  for (const item of outgoing) {
    if (item.kind === 'start') {
      const { created, run, wakes: started } = createRun(db, item.run)
      wakes.push(...started)
      const { parent } = item.run
      if (created || !parent || (run.parent?.runId === parent.runId && run.parent.op === parent.op)) continue
      const error = { name: 'ConflictError', message: `the id '${run.id}' belongs to another run (workflow '${run.workflow}'); give the child another id` }
      wakes.push(...deliverMessage(db, from, { id: `conflict ${parent.op}`, kind: 'child', run: run.id, op: parent.op, status: 'failed', error }, now).wakes)
      touched.push(from)
    } else if (item.kind === 'deliver') {
      wakes.push(...deliverMessage(db, item.to, item.message, now).wakes)
      touched.push(item.to)
    } else if (item.kind === 'dispatch') dispatchTask(db, item.task)
    else if (item.kind === 'withdraw') withdrawTask(db, item.task, now)
    else {
      const terminated = terminateRun(db, item.run, item.reason, now)
      wakes.push(...terminated.wakes)
      touched.push(...terminated.touched)
    }
  }
  return { wakes, touched }
}
