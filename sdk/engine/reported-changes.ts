import type { Json } from '../base/json.ts'
import { changeKey } from './journal.ts'
import type { Operation } from './operation.ts'
import type { Visit } from './visit.ts'

/**
 * Parameters that the code gives otherwise than the journal has them. The journal's stand; a change is reported
 * once.
 */
export class ReportedChanges {
  private readonly visit: Visit

  constructor(visit: Visit) {
    this.visit = visit
  }

  report(operation: Operation, field: string, journaled: Json | undefined, now: Json | undefined): void {
    if (journaled === now) return
    const { replay, buffer } = this.visit
    const event = { type: 'changed' as const, id: operation.id, field, journaled: journaled ?? null, now: now ?? null }
    if (replay.journal.reported.has(changeKey(event))) return
    buffer.add(event)
    const was = `was ${journaled ?? 'absent'} when the run came to it, which stands for this run`
    this.warn(`the ${field} of '${operation.id}' is ${now ?? 'absent'} in the code, and ${was}`, {})
  }

  warn(message: string, fields: Record<string, unknown>): void {
    const { world, run } = this.visit
    world.log('warn', message, { runId: run.id, workflow: run.workflow, ...fields })
  }
}
