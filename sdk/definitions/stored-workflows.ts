import { ConflictError, UnknownWorkflowError } from '../base/errors.ts'
import { eraseTagged } from '../bulk/erase-tagged.ts'
import { steerMany } from '../bulk/steer-many.ts'
import type { World } from '../ports/world.ts'
import { type AnyWorkflow, type Registry, type WorkflowSource, workflow } from '../workflow.ts'
import type { DefinedWorkflow } from './as-workflow.ts'
import type { NamedHandler } from './define.ts'
import { DefinitionStore } from './definition-store.ts'
import type { Handler, Parts } from './interpret.ts'
import type { Definition } from './schema.ts'

const REMEMBERED = 1_000

/** The workflows in the code and, for other names, those that are stored as definitions. */
export class StoredWorkflows implements WorkflowSource {
  protected readonly registry: Registry
  protected readonly handlers: ReadonlyMap<string, Handler>
  protected readonly definitions: DefinitionStore
  /** Never started by name: a caller that may start runs may not erase or steer all of them. */
  private readonly builtIn: ReadonlyMap<string, AnyWorkflow>
  /** A version never changes, so it can be cached for good. */
  private readonly known = new Map<string, { workflow: DefinedWorkflow; children: string[] }>()

  constructor(
    world: Pick<World, 'documents' | 'clock' | 'store' | 'wakeups' | 'ids'>,
    registry: Registry,
    handlers: Iterable<NamedHandler> = [],
  ) {
    this.registry = registry
    this.handlers = new Map([...handlers].map(({ name, run }) => [name, run]))
    this.definitions = new DefinitionStore(world)
    this.builtIn = new Map([eraseTagged(world), steerMany(world)].map((each: AnyWorkflow) => [each.name, each]))
  }

  toStart(name: string, version?: number): AnyWorkflow | Promise<AnyWorkflow> {
    return this.registry.has(name) ? this.registry.toStart(name, version) : this.storedToStart(name, version)
  }

  exact(name: string, version: number): AnyWorkflow | Promise<AnyWorkflow> {
    return this.builtIn.get(name) ?? this.registry.find(name, version) ?? this.stored(name, version)
  }

  knows(workflow: AnyWorkflow): boolean {
    return workflow.body === runsElsewhere || this.builtIn.has(workflow.name) || this.registry.knows(workflow)
  }

  /**
   * Throws if the workflow was deleted. Called after a run was created, because the deletion may have come in
   * between.
   */
  confirm({ name }: AnyWorkflow): Promise<void> | undefined {
    return this.registry.has(name) || this.builtIn.has(name) ? undefined : this.assertNotDeleted(name)
  }

  private async storedToStart(name: string, version?: number): Promise<AnyWorkflow> {
    const head = (await this.definitions.head(name))?.value
    if (!head || head.isDeleted) return this.registry.latest(name)
    return this.stored(name, version ?? head.latest)
  }

  private async assertNotDeleted(name: string): Promise<void> {
    const head = await this.definitions.head(name)
    if (!head || head.value.isDeleted)
      throw new ConflictError(`definition '${name}' was deleted while the run was being started`)
  }

  private stored(name: string, version: number): AnyWorkflow | Promise<AnyWorkflow> {
    const known = this.known.get(`${version} ${name}`)
    return known && known.children.length === 0 ? known.workflow : this.load(name, version)
  }

  private async load(name: string, version: number): Promise<AnyWorkflow> {
    // Loaded on first use, so that processes without definitions do not load the interpreter.
    const { asWorkflow } = await import('./as-workflow.ts')
    let known = this.known.get(`${version} ${name}`)
    if (!known) {
      const found = await this.definitions.version(name, version)
      if (!found) return this.notFound(name, version)
      this.checkHandlers(found.definition, version)
      known = {
        workflow: asWorkflow(found.definition, version, this.partsWith([])),
        children: this.storedChildrenOf(found.definition),
      }
      if (this.known.size >= REMEMBERED) this.known.delete(this.known.keys().next().value!)
      this.known.set(`${version} ${name}`, known)
    }
    if (known.children.length === 0) return known.workflow
    // Which version a child gets is decided when it is started, and in the journal from then on.
    const children = await Promise.all(known.children.map((child) => this.childNamed(child)))
    return asWorkflow(known.workflow.definition, version, this.partsWith(children))
  }

  private async notFound(name: string, version: number): Promise<never> {
    const head = (await this.definitions.head(name))?.value
    if (head && !this.registry.has(name))
      throw new UnknownWorkflowError(`definition '${name}' has no version ${version}; the latest is ${head.latest}`)
    return this.registry.exact(name, version) as never
  }

  private partsWith(children: readonly AnyWorkflow[]): Parts {
    const inCode = this.registry.names().map((name) => this.registry.latest(name))
    return { handlers: this.handlers, workflows: new Map([...inCode, ...children].map((each) => [each.name, each])) }
  }

  private storedChildrenOf({ steps }: Definition): string[] {
    const names = steps.flatMap((step) =>
      step.type === 'workflow' && !this.registry.has(step.workflow) ? [step.workflow] : [],
    )
    return [...new Set(names)]
  }

  /**
   * Enough to start it by; its own runner loads the rest. A deleted child fails its step only when that step
   * is reached.
   */
  private async childNamed(name: string): Promise<AnyWorkflow> {
    const head = (await this.definitions.head(name))?.value
    if (head && !head.isDeleted) return workflow(name, { version: head.latest }, runsElsewhere)
    const issues = [{ message: `there is no workflow '${name}'` }]
    return workflow(
      name,
      { input: { '~standard': { version: 1, vendor: 'overwinter', validate: () => ({ issues }) } } },
      runsElsewhere,
    )
  }

  private checkHandlers({ name, steps }: Definition, version: number): void {
    const missing = steps.flatMap((step) =>
      'handler' in step && step.handler !== undefined && !this.handlers.has(step.handler) ? [step.handler] : [],
    )
    if (missing.length === 0) return
    throw new UnknownWorkflowError(
      `definition '${name}' (version ${version}) calls handlers that are not in this code: ` +
        `${[...new Set(missing)].join(', ')}. Export them from the entry file again, deploy, and retry the run`,
    )
  }
}

async function runsElsewhere(): Promise<never> {
  throw new Error('a child runs under its own definition')
}
