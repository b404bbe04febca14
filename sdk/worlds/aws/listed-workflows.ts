import type { Aws } from './context.ts'
import { put, queryPartition } from './items.ts'
import type { Key } from './keys.ts'

/**
 * Lists have a partition for each workflow, so that listing one does not read the runs of others. A
 * list of all runs reads each of these partitions, so only a limited number of workflows is
 * *listed*: entries `<workflow>`, and `<workflow>\n<tag>` for each tag that all its runs have. A
 * run of any other workflow also has an entry in the partition of all (`allKey`), for one write
 * unit.
 */
const LISTED = 'LISTED'
export const MOST_LISTED = 64
/**
 * The entry that says that this partition is in use, and until when the former one was. Names have
 * no control characters.
 */
const MARK = '\n'
/** Where every workflow had an entry before there was a limit. */
const FORMER = 'WORKFLOWS'
/**
 * How long runners of the earlier version, which do not know the partition of all, may live on
 * after a deployment.
 */
const DEPLOYING_MS = 86_400_000

export interface Listed {
  name: string
  tag?: string
}

export interface Listing {
  listed: Listed[]
  /** Runs of other workflows are in the partition of all. */
  isFull: boolean
  /** Runs created before then may only be in the partitions of former workflows. */
  formerUntil: number
}

export class ListedWorkflows {
  private known = new Set<string>()
  private isFull = false

  /**
   * Called before a run is created: a run in a partition that no list reads would be in no list.
   * Returns the further partitions it needs.
   */
  async note(aws: Aws, workflow: string, commonTags: readonly string[] = []): Promise<{ inAll: boolean }> {
    const entries = [workflow, ...commonTags.map((tag) => `${workflow}\n${tag}`)]
    const missing = () => entries.filter((entry) => !this.known.has(entry))
    if (missing().length > 0 && !this.isFull) await this.read(aws)
    const isListed = this.known.has(workflow)
    if (!isListed && this.isFull) return { inAll: true }
    await Promise.all(missing().map((sk) => put(aws, { pk: LISTED, sk })))
    for (const entry of entries) this.known.add(entry)
    return { inAll: false }
  }

  private async read(aws: Aws): Promise<void> {
    const { listed, isFull } = (await readListed(aws)) ?? (await begin(aws))
    this.known = new Set(listed.map(({ name, tag }) => (tag === undefined ? name : `${name}\n${tag}`)))
    this.isFull = isFull
  }
}

/** The partitions that a list has to read. */
export async function listing(aws: Aws): Promise<Listing> {
  return (await readListed(aws)) ?? { listed: await formerWorkflows(aws), isFull: false, formerUntil: 0 }
}

/** All workflows that were used before there was a limit. */
export async function formerWorkflows(aws: Aws): Promise<Listed[]> {
  return (await queryPartition(aws, FORMER, FIRST, LAST)).map(toListed)
}

async function readListed(aws: Aws): Promise<Listing | undefined> {
  const items = await queryPartition<Key & { until?: number }>(aws, LISTED, MARK, LAST)
  const mark = items.find(({ sk }) => sk === MARK)
  if (!mark) return undefined
  const listed = items.filter((item) => item !== mark).map(toListed)
  return { listed, isFull: namesIn(listed) >= MOST_LISTED, formerUntil: mark.until ?? 0 }
}

/** Runs once in the life of a table. Two processes that do it at the same time write the same. */
async function begin(aws: Aws): Promise<Listing> {
  const former = await formerWorkflows(aws)
  const isFew = namesIn(former) <= MOST_LISTED
  const listed = isFew ? former : []
  await Promise.all(
    listed.map(({ name, tag }) => put(aws, { pk: LISTED, sk: tag === undefined ? name : `${name}\n${tag}` })),
  )
  const formerUntil = isFew ? 0 : aws.clock.now() + DEPLOYING_MS
  await put(aws, { pk: LISTED, sk: MARK, ...(formerUntil > 0 && { until: formerUntil }) })
  return { listed, isFull: namesIn(listed) >= MOST_LISTED, formerUntil }
}

function toListed({ sk }: Key): Listed {
  const [name, tag] = sk.split('\n')
  return { name: name!, ...(tag !== undefined && { tag }) }
}

const namesIn = (listed: readonly Listed[]): number => listed.filter(({ tag }) => tag === undefined).length

/** DynamoDB sorts by the bytes of UTF-8. */
const FIRST = ' '
const LAST = '\u{10ffff}'
