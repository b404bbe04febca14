import type { RunView } from './client.ts'
import type { RunRecord, World } from './ports.ts'

/** What of a run is for others to see. */
export function viewOf({ id, secret: _s, epoch: _e, stimulus: _t, baseSeq: _b, format: _f, parsed: _p, reparse: _r, ...rest }: RunRecord): RunView {
  const view: RunView = { runId: id, ...rest }
  // What it waited for is on record until it is given up again, and nobody's business meanwhile.
  if (view.status === 'running') delete view.waitingFor
  return view
}

/** A signal that nobody waits for may be one whose name was misspelt. */
export async function keptSignals({ store }: World, runId: string): Promise<Record<string, number> | undefined> {
  const kept = new Map<string, number>()
  const { messages } = await store.inbox(runId)
  for (const message of messages) if (message.kind === 'signal') kept.set(message.name, (kept.get(message.name) ?? 0) + 1)
  return kept.size === 0 ? undefined : Object.fromEntries(kept)
}
