import { recordError } from '../base/error-records.ts'
import { UnknownWorkflowError } from '../base/errors.ts'
import type { Delivery, EventOf } from '../base/events.ts'
import { canonicalJson } from '../base/json.ts'
import { childRunId, digest, FORMAT } from '../base/names.ts'
import { accept } from '../base/schema.ts'
import { tagsOf } from '../base/tags.ts'
import { decode, encodeIfPossible } from '../base/values.ts'
import type { NewRun } from '../ports/run.ts'
import type { AnyWorkflow, WorkflowSource } from '../workflow.ts'
import type { Mailbox } from './mailbox.ts'
import type { Operation, RequestOf } from './operation.ts'
import type { ReportedChanges } from './reported-changes.ts'
import type { Visit } from './visit.ts'

/** The child runs that the code starts. Each starts with the commit that journals it (I3). */
export class Children {
  private readonly visit: Visit
  private readonly workflows: WorkflowSource
  private readonly mailbox: Mailbox
  private readonly changes: ReportedChanges
  /** The code started a workflow that this program does not have: the run is parked until it is deployed. */
  refusal: Error | undefined

  constructor(visit: Visit, workflows: WorkflowSource, mailbox: Mailbox, changes: ReportedChanges) {
    this.visit = visit
    this.workflows = workflows
    this.mailbox = mailbox
    this.changes = changes
  }

  /** A delivery where the operation ends at once: a detached child that was started, or refused. */
  async open(operation: Operation, request: RequestOf<'child'>): Promise<Delivery | undefined> {
    const { facts, id } = operation
    const opened = facts?.opened as EventOf<'child.started'> | undefined
    if (opened && !facts!.isLost) {
      this.reportChanges(operation, request, opened)
      await this.resendStart(operation, request, opened)
      return undefined
    }
    const { workflow, options } = request
    const what = `the input of child workflow '${workflow.name}'`
    let accepted: Awaited<ReturnType<Children['accept']>>
    try {
      accepted = await this.accept(workflow, request.input, what)
    } catch (error) {
      return this.refuse(operation, request, error)
    }
    if (!this.workflows.knows(workflow)) {
      const unknown = unknownChild(workflow)
      // Where several programs share a store, another one may have the workflow: its runner takes the child.
      if (!this.visit.world.isShared) return void (this.refusal ??= unknown)
      this.changes.warn(unknown.message, { child: workflow.name })
    }
    const event: EventOf<'child.started'> = {
      type: 'child.started',
      id,
      run: this.idOf(operation, request),
      workflow: workflow.name,
      version: workflow.version,
      input: accepted.input,
      onParentEnd: options.onParentEnd ?? (options.detached ? 'abandon' : 'cancel'),
      ...(options.detached && { detached: true as const }),
    }
    const { buffer } = this.visit
    buffer.add(event)
    operation.learn(event)
    buffer.send({ kind: 'start', run: { ...this.runOf(operation, request, event), ...accepted } })
    this.mailbox.look()
    return options.detached ? { type: 'child.detached', id } : undefined
  }

  /** The input does not fit. To the code this is a child that failed. */
  private refuse({ id: op }: Operation, { options }: RequestOf<'child'>, reason: unknown): Delivery | undefined {
    const error = recordError(reason)
    if (options.detached) return { type: 'child.failed', id: op, error }
    const run = options.id ?? childRunId(this.visit.run, op)
    this.mailbox.receiveOwn({ id: `invalid ${op}`, kind: 'child', run, op, status: 'failed', error })
    return undefined
  }

  /**
   * A runner that died behind a frame may not have started the child that is journaled in it. A runner that released
   * the run has. After a retry by an operator the child may have ended while its parent could not receive the
   * message. In all other cases the child is not started again: one that has ended may be past its retention, and
   * would run anew.
   */
  private async resendStart(
    operation: Operation,
    request: RequestOf<'child'>,
    opened: EventOf<'child.started'>,
  ): Promise<void> {
    const { replay, claimed, buffer } = this.visit
    const { journal } = replay
    if (this.mailbox.isAnswered(operation.id)) return
    if (claimed.recovered && (operation.facts!.openedBy ?? 0) > claimed.lastGoodEpoch) {
      // The journaled input was accepted. If the schema has changed since, the child's own runner reports it.
      const what = `the input of child '${operation.id}'`
      const accepted = await this.accept(request.workflow, decode(opened.input), what).catch(() => ({
        reparse: true as const,
      }))
      buffer.send({ kind: 'start', run: { ...this.runOf(operation, request, opened), ...accepted } })
    } else if (!opened.detached && journal.retries > 0 && (claimed.recovered || journal.isJustRetried)) {
      buffer.send({ kind: 'start', run: this.runOf(operation, request, opened), isThere: true })
    }
  }

  private async accept(workflow: AnyWorkflow, input: unknown, what: string) {
    const { flow, clock } = this.visit.world
    const accepted = await accept(workflow.options.input, input, what)
    return { ...(await tagsOf(workflow, accepted)), ...(await flow.childOf(workflow, accepted, clock.now())) }
  }

  /** A child that was ended with its failed parent cannot go on; the child that replaces it has an id of its own. */
  private idOf({ id, facts }: Operation, { options }: RequestOf<'child'>): string {
    const { retries, startedBefore } = this.visit.replay.journal
    const nth = facts?.isLost || startedBefore.has(id) ? retries : 0
    if (options.id === undefined) return childRunId(this.visit.run, id, nth)
    return nth === 0 ? options.id : `${options.id}~r${nth}`
  }

  private runOf(operation: Operation, request: RequestOf<'child'>, started: EventOf<'child.started'>): NewRun {
    const { world, run } = this.visit
    const now = world.clock.now()
    return {
      id: started.run,
      workflow: started.workflow,
      version: started.version,
      format: FORMAT,
      input: started.input,
      secret: world.ids.secret(),
      createdAt: now,
      wakeAt: now,
      ...(started.detached ? {} : { parent: { runId: run.id, op: operation.id, generation: run.generation } }),
      tags: [],
      retentionMs: request.workflow.retentionMs,
    }
  }

  private reportChanges(
    operation: Operation,
    { input, options }: RequestOf<'child'>,
    opened: EventOf<'child.started'>,
  ): void {
    if (options.id !== undefined && !opened.run.startsWith(options.id))
      this.changes.report(operation, 'id', opened.run, options.id)
    const [was, is] = [canonicalJson(opened.input), canonicalJson(encodeIfPossible(input)?.json)]
    if (was !== is) this.changes.report(operation, 'input', digest(was), digest(is))
  }
}

/** The child's run would find no code and be parked, and the parent would wait for ever. */
function unknownChild({ name, version }: AnyWorkflow): UnknownWorkflowError {
  return new UnknownWorkflowError(
    `ctx.run was given workflow '${name}' (version ${version}), which the runner of this run does not know. ` +
      'Export it from the entry file, or list it in `workflows`, deploy, and retry the run',
  )
}
