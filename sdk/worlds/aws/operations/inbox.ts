import type { Message } from '../../../ports.ts'
import type { Aws } from '../context.ts'
import { loadInbox } from '../journal.ts'
import { getRunItem } from '../partition.ts'

/** Two reads, and never one: the counter first and then the messages (I6, see claim). */
export async function readInbox(aws: Aws, runId: string): Promise<{ stimulus: number; messages: Message[] }> {
  const run = await getRunItem(aws, runId)
  return run ? { stimulus: run.stimulus, messages: await loadInbox(aws, run) } : { stimulus: 0, messages: [] }
}
