import { ConflictError } from '../base/errors.ts'
import type { JournalEvent } from '../base/events.ts'
import { checkName, keyedMessageId } from '../base/names.ts'
import { OWN_KEY } from '../base/own-key.ts'
import { validateOrThrow } from '../base/schema.ts'
import type { Giving } from '../base/storable.ts'
import { encode } from '../base/values.ts'
import type { Message, RunRecord, RunState } from '../ports/run.ts'
import type { World } from '../ports/world.ts'
import type { Registry, RunRequest, Signal } from '../workflow.ts'
import { awaitReply } from './await-reply.ts'
import { refuseUndeclared } from './declared-signals.ts'
import type { AskOptions, RepeatOptions } from './options.ts'
import { contentOf } from './reply-content.ts'
import { journalHas, notFound, recordOf, reviveStuck } from './retrying.ts'
import { untilOf } from './settling.ts'

/** What reaches a run from outside while it is under way. */
export class Sending {
  private readonly world: World
  private readonly registry: Registry

  constructor(world: World, registry: Registry) {
    this.world = world
    this.registry = registry
  }

  async signal<In>(
    runId: string,
    signal: Signal<unknown, In> | string,
    ...[payload, options = {}]: Giving<In, RepeatOptions>
  ): Promise<{ accepted: boolean }> {
    const name = typeof signal === 'string' ? signal : signal.name
    checkName('a signal name', name)
    if (typeof signal !== 'string') await validateOrThrow(signal.schema, payload, `the payload of signal '${name}'`)
    const kept = encode(payload, `the payload of signal '${name}'`)
    const id = this.messageId('signal', options, name)
    return this.deliver(
      runId,
      { id, kind: 'signal', name, ...(kept !== undefined && { payload: kept }) },
      options,
      (run) => refuseUndeclared(this.registry, run, { kind: 'signal', name, payload: kept }),
    )
  }

  async ask<In, Out>(
    runId: string,
    request: RunRequest<unknown, In, never, Out> | string,
    ...[payload, options = {}]: Giving<In, AskOptions>
  ): Promise<Out> {
    const name = typeof request === 'string' ? request : request.name
    checkName('a request name', name)
    if (typeof request !== 'string') await validateOrThrow(request.schema, payload, `the payload of request '${name}'`)
    const kept = encode(payload, `the payload of request '${name}'`)
    const { idempotencyKey = `${OWN_KEY}${this.world.ids.messageId()}` } = options
    const messageId = this.messageId('ask', { idempotencyKey }, name)
    const until = untilOf(this.world, `the timeout of request '${name}'`, options.timeout)
    // Asked again, it may have its reply, and the run its end.
    const isKnown =
      options.idempotencyKey !== undefined && (await this.world.store.reply(runId, messageId)) !== undefined
    const message: Message = {
      id: messageId,
      kind: 'signal',
      name,
      ...(kept !== undefined && { payload: kept }),
      asks: true,
    }
    if (!isKnown)
      await this.deliver(runId, message, options, (run) =>
        refuseUndeclared(this.registry, run, { kind: 'request', name, payload: kept }),
      )
    const question = { runId, request: name, idempotencyKey }
    return contentOf(await awaitReply(this.world, question, messageId, until), question) as Out
  }

  async cancel(runId: string, reason?: string, options: RepeatOptions = {}): Promise<void> {
    const id = this.messageId('cancel', options)
    await this.deliver(runId, { id, kind: 'cancel', ...(reason !== undefined && { reason }) }, options)
  }

  async terminate(runId: string, reason = 'terminated by request', options: RepeatOptions = {}): Promise<void> {
    const { ended, wakes } = await this.world.store.terminate(runId, reason)
    await this.world.wakeups.send(wakes)
    if (ended) return
    const run = await recordOf(this.world, runId)
    if (run.status !== 'terminated' || options.idempotencyKey === undefined) throw alreadyEnded(run)
  }

  async wake(runId: string, options: RepeatOptions = {}): Promise<void> {
    const run = await recordOf(this.world, runId)
    if (run.status === 'stuck') return reviveStuck(this.world, runId)
    const isQueued = run.status === 'queued' && !run.waitingFor?.length
    if (run.status === 'pending' || isQueued) {
      const why = isQueued
        ? 'waits for its turn'
        : run.startedAt === undefined
          ? 'has not started yet'
          : 'is about to begin anew'
      throw new ConflictError(`run '${runId}' ${why}, so there is no sleep to skip`)
    }
    const id = this.messageId('wake', options)
    await this.deliver(runId, { id, kind: 'wake' }, options)
  }

  private messageId(
    kind: Parameters<typeof keyedMessageId>[0],
    { idempotencyKey }: RepeatOptions,
    of?: string,
  ): string {
    if (idempotencyKey === undefined) return this.world.ids.messageId()
    checkName('an idempotency key', idempotencyKey)
    return keyedMessageId(kind, idempotencyKey, of)
  }

  private async deliver(
    runId: string,
    message: Message,
    options: RepeatOptions,
    refuse?: (run: RunState) => void,
  ): Promise<{ accepted: boolean }> {
    const { outcome, wakes } = await this.world.store.deliver(runId, message, refuse)
    if (outcome === 'missing') throw notFound(runId)
    if (outcome === 'ended') {
      // The first delivery may be what ended the run.
      const isRepeat =
        options.idempotencyKey !== undefined &&
        (await journalHas(this.world, runId, (event) => cameFrom(event) === message.id))
      if (!isRepeat) throw alreadyEnded(await recordOf(this.world, runId))
    }
    await this.world.wakeups.send(wakes)
    return { accepted: outcome === 'accepted' }
  }
}

function alreadyEnded(run: RunRecord): ConflictError {
  return new ConflictError(`run '${run.id}' has already ended (${run.status})`)
}

/** The message that an event took over, if it is of that kind. */
function cameFrom(event: JournalEvent): string | undefined {
  return event.type === 'sleep.completed' ? event.skippedBy : 'from' in event ? event.from : undefined
}
