import { ConflictError, type Problem, UnknownWorkflowError } from '../base/errors.ts'
import type { World } from '../ports/world.ts'
import type { Registry } from '../workflow.ts'
import type { NamedHandler } from './define.ts'
import type { StoredVersion } from './definition-store.ts'
import type { Definition } from './schema.ts'
import { StoredWorkflows } from './stored-workflows.ts'
import type { Known } from './validate.ts'

export interface DefinitionSummary {
  name: string
  /** The latest version. */
  version: number
  /** The name in the definition itself. */
  label?: string
  createdAt: number
  updatedAt: number
}

export interface SavedDefinition {
  name: string
  version: number
  /** False when the latest version has the same content. */
  isNew: boolean
  createdAt: number
  /** Likely mistakes. */
  warnings: Problem[]
}

/** A route of the API has this name. */
const TAKEN = 'schema.json'
/** So many running runs are named in the error when a definition cannot be deleted. */
const NAMED = 5

/** Saves, shows and deletes definitions; `StoredWorkflows` runs them. */
export class Catalogue extends StoredWorkflows {
  private readonly world: Pick<World, 'store' | 'documents' | 'clock' | 'tasks'>

  constructor(
    world: Pick<World, 'store' | 'documents' | 'clock' | 'wakeups' | 'ids' | 'tasks'>,
    registry: Registry,
    handlers: Iterable<NamedHandler> = [],
  ) {
    super(world, registry, handlers)
    this.world = world
  }

  /** Saves a new version, unless the latest one has the same content. Throws all problems, each with its path. */
  async save(name: string, json: unknown): Promise<SavedDefinition> {
    const { definition, warnings } = await this.check(name, json)
    return { name, ...(await this.definitions.add(definition)), warnings }
  }

  /** What `save` would say, without saving. */
  async check(name: string, json: unknown): Promise<{ definition: Definition; warnings: Problem[] }> {
    // The validator is large, and most processes never save anything.
    const { findWarnings, parseDefinition } = await import('./validate.ts')
    const stored = await this.definitions.heads()
    const workflows = new Set([...this.registry.names(), ...stored.map((each) => each.name), name])
    const known: Known = {
      handlers: new Set(this.handlers.keys()),
      workflows,
      refusalOfTask: (type) => this.world.tasks.refusal(type),
    }
    const definition = parseDefinition(withName(name, json), known, nameProblems(name, json))
    if (this.registry.has(name))
      throw new ConflictError(`'${name}' is a workflow in the code; give the definition another name`)
    return { definition, warnings: findWarnings(definition) }
  }

  async get(name: string, version?: number): Promise<StoredVersion> {
    const head = (await this.definitions.head(name))?.value
    if (!head || head.isDeleted) throw await this.unknown(name)
    const found = await this.definitions.version(name, version ?? head.latest)
    if (!found)
      throw new UnknownWorkflowError(`definition '${name}' has no version ${version}; the latest is ${head.latest}`)
    return found
  }

  async list(): Promise<DefinitionSummary[]> {
    return (await this.definitions.heads()).map(({ name, head: { latest, label, createdAt, updatedAt } }) => ({
      name,
      version: latest,
      ...(label !== undefined && { label }),
      createdAt,
      updatedAt,
    }))
  }

  /**
   * Refused while runs of it are alive. A concurrent start is caught too: if it comes after the mark, it sees
   * the mark (`confirm`); if before, the second check sees its run.
   */
  async delete(name: string): Promise<void> {
    const head = await this.definitions.head(name)
    if (!head || head.value.isDeleted) throw await this.unknown(name)
    await this.assertNoRuns(name)
    const marked = await this.definitions.markDeleted(name, head)
    if (!marked) throw new ConflictError(`definition '${name}' was changed by another process meanwhile; look again`)
    await this.assertNoRuns(name).catch(async (error: unknown) => {
      await this.definitions.restore(name, marked)
      throw error
    })
    await this.definitions.letVersionsExpire(name, marked.value.latest)
  }

  private async assertNoRuns(workflow: string): Promise<void> {
    let cursor: string | undefined
    do {
      const page = await this.world.store.list({
        workflow,
        isOpen: true,
        limit: NAMED,
        ...(cursor !== undefined && { cursor }),
      })
      if (page.runs.length > 0) {
        const some = page.runs.map(({ runId, status }) => `'${runId}' (${status})`).join(', ')
        throw new ConflictError(
          `runs of definition '${workflow}' are alive: ${some}${page.cursor === undefined ? '' : ' and more'}; ` +
            'end them first',
        )
      }
      cursor = page.cursor
    } while (cursor !== undefined)
  }

  private async unknown(name: string): Promise<UnknownWorkflowError> {
    const known = (await this.definitions.heads()).map((each) => each.name)
    return new UnknownWorkflowError(`no definition is named '${name}'; known: ${known.join(', ') || 'none'}`)
  }
}

const isObject = (json: unknown): json is { name?: unknown } =>
  typeof json === 'object' && json !== null && !Array.isArray(json)

/** The name may be left out of the definition. */
const withName = (name: string, json: unknown): unknown => (isObject(json) ? { name, ...json } : json)

function nameProblems(name: string, json: unknown): Problem[] {
  if (name === TAKEN) return [{ path: '$.name', message: `'${TAKEN}' is where the JSON Schema is` }]
  const own = isObject(json) ? json.name : undefined
  return typeof own !== 'string' || own === name
    ? []
    : [{ path: '$.name', message: `is '${own}', but it is being saved as '${name}'` }]
}
