import type { RunHandle } from '../../sdk/testing/index.ts'

/** What is in the journal of a run, in short. */
export async function eventsOf(run: RunHandle): Promise<string[]> {
  return (await run.history()).map(({ type }) => type)
}
