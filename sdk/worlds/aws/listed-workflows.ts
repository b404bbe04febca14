import type { Aws } from './context.ts'
import { put, queryPartition } from './items.ts'
import type { Key } from './keys.ts'

/**
 * Lists have a partition for each workflow, so that those of one need not read through those of the others. A list of all runs asks each of
 * these partitions, so only so many workflows are *listed*: entries `<workflow>`, and `<workflow>\n<tag>` for each tag that all its runs have.
 * A run of any other workflow has an entry in the partition of all (`allKey`) besides, for one write unit.
 */
const LISTED = 'LISTED'
export const MOST_LISTED = 64
/** The entry that says that this partition is in use, and until when that of before was. Names have no control characters. */
const MARK = '\n'
/** Where each workflow that was ever used had an entry, before there was a limit. */
const FORMER = 'WORKFLOWS'
/** How long runners of before may be about after a deployment, who know nothing of the partition of all. */
const DEPLOYING_MS = 86_400_000

export interface Listed {
  name: string
  tag?: string
}

export interface Listing {
  listed: Listed[]
  /** Runs of other workflows are in the partition of all. */
  isFull: boolean
  /** Runs that were created before may be in no other place than the partitions of former workflows. */
  formerUntil: number
}

export class ListedWorkflows {
  private known = new Set<string>()
  private isFull = false

  /** Before a run is made: one in a partition that no list asks would be in no list. Returns where it has to be besides. */
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

/** What a list has to ask. */
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

/** Once in the life of a table. Two processes that do it at the same time write the same. */
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
