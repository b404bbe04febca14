import type { NewRun } from '../ports/run.ts'
import type { AnyWorkflow } from '../workflow.ts'
import { InvalidInputError } from './errors.ts'
import { checkName } from './names.ts'
import { type Accepted, validateOrThrow } from './schema.ts'
import { decode } from './values.ts'

/** Each is an entry in an index, which costs money. */
const MOST_TAGS = 50

/**
 * The tags of a run that is about to be created: those of its workflow, and those that its caller adds. Throws
 * before anything is written.
 */
export async function tagsOf(
  workflow: AnyWorkflow,
  accepted: Accepted,
  added: readonly string[] = [],
): Promise<Pick<NewRun, 'tags' | 'commonTags'>> {
  const { tags = [] } = workflow.options
  const isMade = typeof tags === 'function'
  const own = isMade ? await made(workflow, tags, accepted) : tags
  for (const tag of added) checkName('a tag', tag)
  const all = [...new Set([...own, ...added])]
  if (all.length > MOST_TAGS)
    throw new InvalidInputError(
      `a run of workflow '${workflow.name}' would have ${all.length} tags; ${MOST_TAGS} are the most`,
    )
  return { tags: all, ...(!isMade && tags.length > 0 && { commonTags: tags }) }
}

async function made(
  workflow: AnyWorkflow,
  tagsFor: (input: never) => unknown,
  { input, parsed, reparse }: Accepted,
): Promise<string[]> {
  const what = `the tags of workflow '${workflow.name}'`
  const value = reparse ? await validateOrThrow(workflow.options.input, decode(input), what) : decode(parsed ?? input)
  let tags: unknown
  try {
    tags = tagsFor(value as never)
  } catch (error) {
    throw ofInput(`${what} could not be made of this input: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (!Array.isArray(tags)) throw ofInput(`${what} must be an array of strings; the function gave ${typeof tags}`)
  for (const tag of tags) {
    try {
      checkName(`a tag of workflow '${workflow.name}'`, tag)
    } catch (error) {
      throw ofInput((error as Error).message)
    }
  }
  return tags as string[]
}

/** It is the input that they cannot be made of. */
const ofInput = (message: string): InvalidInputError => new InvalidInputError(message, [{ path: '$', message }])
