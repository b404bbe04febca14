import { isTerminal, type JournalEvent } from '../../sdk/engine/events.ts'
import { idempotencyKey } from '../../sdk/engine/names.ts'
import { hasEnded, type RunRecord, type World } from '../../sdk/ports.ts'
import { type Cloud, lifeOf } from './cloud.ts'
import { calledByPrefix } from './prefixes.ts'
import type { Trouble } from './trouble.ts'

/** A body that was run, or a task that a worker took. */
export interface Effect {
  key: string
  attempt: number
}

/** What was seen of a play besides what is stored. */
export interface Seen {
  effects: Effect[]
  tasks: Effect[]
}

/** I1 to I7, of a run that has ended. Gives the number of frames. */
export async function check(run: RunRecord, world: World, cloud: Cloud, trouble: Trouble, { effects, tasks }: Seen, failures: string[]): Promise<number> {
  const fail = (message: string) => failures.push(`run '${run.id}': ${message}`)
  const frames = (await world.store.frames(run.id)).filter((frame) => frame.seq > run.baseSeq)
  const events = frames.flatMap((frame) => frame.events.map((event) => ({ event, at: frame.at + (event.dt ?? 0) })))

  const terminals = events.filter(({ event }) => isTerminal(event))
  if (!hasEnded(run.status)) fail(`is ${run.status} (${run.error?.message ?? 'no error'})`)
  if (terminals.length !== 1 || terminals[0] !== events.at(-1)) fail(`has ${terminals.length} terminal events; the last event is ${events.at(-1)?.event.type}`)
  if (run.status === 'failed') fail(`failed: ${run.error?.message}`)

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
  checkSignals(
    events.map(({ event }) => event),
    fail,
  )

  const calls = await calledByPrefix(
    cloud.workflows.exact(run.workflow, run.version),
    run,
    frames.filter((frame) => frame.seq > run.baseSeq),
  )
  if (typeof calls === 'string') fail(`I2: ${calls}`)
  return frames.length
}

/** I4: a result in the journal has an effect behind it, and at-most-once means it. */
function checkEffects(run: RunRecord, events: JournalEvent[], effects: Effect[], fail: (message: string) => void): void {
  const keyOf = (op: string) => idempotencyKey(run, op)
  for (const event of events) {
    if (event.type === 'step.started') {
      const runs = effects.filter((effect) => effect.key === keyOf(event.id) && effect.attempt === event.attempt).length
      if (runs > 1) fail(`I4: at-most-once step '${event.id}' ran ${runs} times in attempt ${event.attempt}`)
    }
    if (event.type === 'step.completed' && !effects.some((effect) => effect.key === keyOf(event.id))) fail(`I4: step '${event.id}' has a result and never ran`)
  }
  const settled = new Map<string, number>()
  for (const event of events) {
    if (!('id' in event) || !/\.(completed|failed|timedOut)$/.test(event.type)) continue
    settled.set(event.id, (settled.get(event.id) ?? 0) + 1)
  }
  for (const [id, times] of settled) if (times > 1) fail(`I4: '${id}' was settled ${times} times`)
}

function checkTimers(events: { event: JournalEvent; at: number }[], trouble: Trouble, fail: (message: string) => void): void {
  const until = new Map<string, number>()
  for (const { event, at } of events) {
    if (event.type === 'sleep.started' || event.type === 'wait.started') until.set(event.id, event.until ?? 0)
    if ((event.type === 'sleep.completed' || event.type === 'wait.timedOut') && at < until.get(event.id)! - trouble.skew)
      fail(`'${event.id}' woke ${until.get(event.id)! - at} ms early`)
  }
}

function checkSignals(events: JournalEvent[], fail: (message: string) => void): void {
  const consumed = new Set<string>()
  for (const event of events) {
    if (event.type !== 'wait.completed') continue
    if (consumed.has(event.from)) fail(`signal message '${event.from}' was consumed twice`)
    consumed.add(event.from)
  }
}
