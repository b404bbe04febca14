import type { Aws } from './context.ts'
import { put, queryPartition } from './items.ts'

/**
 * Lists have a partition for each workflow, so that those of one need not read through those of the others. This is where one finds which
 * there are, and which tags all runs of one have: an entry for each, `<workflow>` or `<workflow>\n<tag>`. Each process writes an entry once.
 */
const PARTITION = 'WORKFLOWS'

export interface Listed {
  name: string
  tag?: string
}

export class ListedWorkflows {
  private readonly noted = new Set<string>()

  /** Before the first run of it is made: a run in a partition that nobody knows would be in no list. */
  async note(aws: Aws, workflow: string, commonTags: readonly string[] = []): Promise<void> {
    const entries = [workflow, ...commonTags.map((tag) => `${workflow}\n${tag}`)].filter((entry) => !this.noted.has(entry))
    if (entries.length === 0) return
    await Promise.all(entries.map((sk) => put(aws, { pk: PARTITION, sk })))
    for (const entry of entries) this.noted.add(entry)
  }
}

export async function listedWorkflows(aws: Aws): Promise<Listed[]> {
  return (await queryPartition(aws, PARTITION, FIRST, LAST)).map(({ sk }) => {
    const [name, tag] = sk.split('\n')
    return { name: name!, ...(tag !== undefined && { tag }) }
  })
}

/** Names have no control characters, and DynamoDB sorts by the bytes of UTF-8. */
const FIRST = ' '
const LAST = '\u{10ffff}'
