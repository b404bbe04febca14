import { digest } from '../base/names.ts'
import type { DocumentStore } from '../ports/documents.ts'
import type { RunRecord } from '../ports/run.ts'

type Owner = Pick<RunRecord, 'id' | 'generation'>

/** A collection for each: on AWS that is a partition, and many callbacks may show signs of life at once. */
const place = (run: Owner, op: string): [collection: string, key: string] => [
  `callback ${digest(`${run.id}\n${run.generation}\n${op}`)}`,
  'heartbeat',
]

/** Kept as long as it can make a difference. */
export async function beat(
  documents: DocumentStore,
  run: Owner,
  op: string,
  { at, ms }: { at: number; ms: number },
): Promise<void> {
  await documents.put(...place(run, op), at, { expiresAt: at + ms })
}

/** When a callback last showed a sign of life. */
export async function lastBeat(documents: DocumentStore, run: Owner, op: string): Promise<number | undefined> {
  return (await documents.get(...place(run, op)))?.value as number | undefined
}
