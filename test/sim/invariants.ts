import { isTerminal, type JournalEvent } from '../../sdk/base/events.ts'
import { idempotencyKey, keyedMessageId } from '../../sdk/base/names.ts'
import { hasEnded, type RunRecord } from '../../sdk/ports/run.ts'
import { type Cloud, lifeOf } from './cloud.ts'
import type { Accepted, Outside } from './outside.ts'
import { calledByPrefix } from './prefixes.ts'
import { isAsked } from './program.ts'
import type { Trouble } from './trouble.ts'
import type { Effect, Witness } from './witness.ts'

/** What was seen of a play besides what is stored. */
export interface Play {
  cloud: Cloud
  trouble: Trouble
  witness: Witness
  outside: Outside
}

/** I1 to I7, and I9, of a run that has ended. Gives the number of frames. */
export async function check(
  run: RunRecord,
  { cloud, trouble, witness, outside }: Play,
  failures: string[],
): Promise<number> {
  const fail = (message: string) => failures.push(`run '${run.id}': ${message}`)
  const { effects, tasks } = witness
  const world = cloud.observer()
  const frames = (await world.store.frames(run.id)).filter((frame) => frame.seq > run.baseSeq)
  const events = frames.flatMap((frame) => frame.events.map((event) => ({ event, at: frame.at + (event.dt ?? 0) })))

  const terminals = events.filter(({ event }) => isTerminal(event))
  if (!hasEnded(run.status)) fail(`is ${run.status} (${run.error?.message ?? 'no error'})`)
  const retries = events.filter(({ event }) => event.type === 'run.retried').length
  if (terminals.length !== retries + 1 || terminals.at(-1) !== events.at(-1))
    fail(
      `has ${terminals.length} terminal events and was retried ${retries} times; the last event is ${events.at(-1)?.event.type}`,
    )
  if (run.status === 'failed' && !outside.givenUp.has(run.id)) fail(`failed: ${run.error?.message}`)

  for (const [seq, was] of cloud.ledger.acknowledged.get(lifeOf(run)) ?? []) {
    if (seq <= run.baseSeq) continue
    const is = JSON.stringify(frames.find((frame) => frame.seq === seq)?.events)
    if (was !== is) fail(`I1: frame ${seq} was acknowledged as ${was} and is now ${is ?? 'gone'}`)
  }

  checkEffects(
    run,
    events.map(({ event }) => event),
    effects,
    fail,
  )
  for (const { event } of events) {
    if (event.type === 'task.completed' && !tasks.some(({ key }) => key === `${run.id} ${event.id}`))
      fail(`I4: task '${event.id}' has a result and nobody did it`)
  }
  checkTimers(events, trouble, fail)
  await checkSignals(run, cloud, outside, fail)
  if (run.id === 'root')
    checkArrival(
      events.map(({ event }) => event),
      outside,
      fail,
    )
  await checkReplies(run, cloud, outside, fail)

  const calls = await calledByPrefix(
    cloud.workflows.exact(run.workflow, run.version),
    run,
    frames.filter((frame) => frame.seq > run.baseSeq),
  )
  if (typeof calls === 'string') fail(`I2: ${calls}`)
  return frames.length
}

/** I4: a result in the journal has an effect behind it, and at-most-once means it. */
function checkEffects(
  run: RunRecord,
  events: JournalEvent[],
  effects: Effect[],
  fail: (message: string) => void,
): void {
  const keyOf = (op: string) => idempotencyKey(run, op)
  for (const event of events) {
    if (event.type === 'step.started') {
      const runs = effects.filter((effect) => effect.key === keyOf(event.id) && effect.attempt === event.attempt).length
      if (runs > 1) fail(`I4: at-most-once step '${event.id}' ran ${runs} times in attempt ${event.attempt}`)
    }
    if (event.type === 'step.completed' && !effects.some((effect) => effect.key === keyOf(event.id)))
      fail(`I4: step '${event.id}' has a result and never ran`)
  }
  const settled = new Map<string, number>()
  for (const event of events) {
    // What an operator has undone may be settled again.
    if (event.type === 'run.retried') settled.clear()
    if (!('id' in event) || !/\.(completed|failed|timedOut)$/.test(event.type)) continue
    settled.set(event.id, (settled.get(event.id) ?? 0) + 1)
  }
  for (const [id, times] of settled) if (times > 1) fail(`I4: '${id}' was settled ${times} times`)
}

function checkTimers(
  events: { event: JournalEvent; at: number }[],
  trouble: Trouble,
  fail: (message: string) => void,
): void {
  const until = new Map<string, number>()
  for (const { event, at } of events) {
    if (event.type === 'sleep.started' || event.type === 'wait.started') until.set(event.id, event.until ?? 0)
    if (event.type === 'sleep.completed' && event.skippedBy !== undefined) continue
    if (
      (event.type === 'sleep.completed' || event.type === 'wait.timedOut') &&
      at < until.get(event.id)! - trouble.skew
    )
      fail(`'${event.id}' woke ${until.get(event.id)! - at} ms early`)
  }
}

/** I9: who asks gets one reply, and can have it for as long as the question is known. */
async function checkReplies(
  run: RunRecord,
  cloud: Cloud,
  outside: Outside,
  fail: (message: string) => void,
): Promise<void> {
  const said = new Map<string, unknown>()
  for (const event of cloud.ledger.eventsOf(lifeOf(run))) {
    if (event.type !== 'request.replied') continue
    if (said.has(event.to)) fail(`I9: question '${event.to}' was replied to twice`)
    said.set(event.to, event.result)
  }
  const { store } = cloud.observer()
  const frames = await store.frames(run.id)
  const inJournal = (id: string) =>
    frames.some(({ events }) => events.some((event) => event.type === 'request.replied' && event.to === id))
  for (const [id, result] of said) {
    const reply = await store.reply(run.id, id)
    // A later generation may have forgotten it, after a month. Whoever ends a run from outside does not finish the work of a runner that died.
    if (reply ? reply.result !== result : run.generation === 0 && !(run.status === 'terminated' && inJournal(id)))
      fail(`I9: the reply to '${id}' is ${reply ? 'another one' : 'gone'}`)
  }
  for (const [key, reply] of run.id === 'root' ? outside.replies : [])
    if (![...said.values()].includes(reply)) fail(`I9: nobody gave '${key}' its reply`)
}

const messageIdOf = ({ name, key }: Pick<Accepted, 'name' | 'key'>): string =>
  keyedMessageId(isAsked(name) ? 'ask' : 'signal', key, name)

/** I9: over all generations. What was accepted is consumed once, or still there, or the run ended in a way that says so. */
async function checkSignals(
  run: RunRecord,
  cloud: Cloud,
  outside: Outside,
  fail: (message: string) => void,
): Promise<void> {
  const consumed = new Set<string>()
  for (const event of cloud.ledger.eventsOf(lifeOf(run))) {
    if (event.type !== 'wait.completed') continue
    if (consumed.has(event.from)) fail(`I9: signal message '${event.from}' was consumed twice`)
    consumed.add(event.from)
  }
  const { messages } = await cloud.observer().store.inbox(run.id)
  const waiting = new Set(messages.map(({ id }) => id))
  for (const { runId, name, key, times } of outside.accepted.values()) {
    if (runId !== run.id) continue
    if (times > 1) fail(`I9: the signal with the key '${key}' was taken for a new one ${times} times`)
    const id = messageIdOf({ name, key })
    // Nobody reads the mail of the others any more.
    if (run.status !== 'failed') continue
    if (!consumed.has(id) && !waiting.has(id)) fail(`I9: the accepted signal '${key}' is gone`)
    if (waiting.has(id) && consumed.has(id)) fail(`I9: signal '${key}' was consumed and waits still`)
  }
}

/**
 * I9: a message that was accepted before another was sent is taken first, if a wait for it was open by then. And a signal that
 * carries nothing is told from a timeout.
 */
function checkArrival(events: readonly JournalEvent[], outside: Outside, fail: (message: string) => void): void {
  const sentAs = new Map<string, Accepted>()
  for (const accepted of outside.accepted.values()) sentAs.set(messageIdOf(accepted), accepted)
  const opened = new Map<string, number>()
  const taken: { at: number; message: Accepted; openSince: number }[] = []
  for (const [at, event] of events.entries()) {
    // What an operator has undone is taken once more, in the order of the code.
    if (event.type === 'run.retried') return
    if (event.type === 'wait.started') opened.set(event.id, at)
    const message = event.type === 'wait.completed' && sentAs.get(event.from)
    if (!message) continue
    if (event.payload === undefined) fail(`I9: signal '${message.key}' looks like a timeout`)
    taken.push({ at, message, openSince: opened.get(event.id) ?? 0 })
  }
  for (const early of taken)
    for (const late of taken)
      if (late.message.known < early.message.sent && late.at > early.at && late.openSince < early.at)
        fail(`I9: '${early.message.key}' overtook '${late.message.key}'`)
}
