import { QueryCommand } from '@aws-sdk/lib-dynamodb'
import type { Aws } from './context.ts'
import { put } from './items.ts'

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
  const listed: Listed[] = []
  let start: Record<string, unknown> | undefined
  do {
    const page = await aws.db.send(
      new QueryCommand({
        TableName: aws.table,
        KeyConditionExpression: '#pk = :pk',
        ExpressionAttributeNames: { '#pk': 'pk' },
        ExpressionAttributeValues: { ':pk': PARTITION },
        ConsistentRead: true,
        ExclusiveStartKey: start,
      }),
    )
    for (const { sk } of page.Items ?? []) {
      const [name, tag] = (sk as string).split('\n')
      listed.push({ name: name!, ...(tag !== undefined && { tag }) })
    }
    start = page.LastEvaluatedKey
  } while (start)
  return listed
}
