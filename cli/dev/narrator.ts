import type { ErrorRecord, JournalEvent } from '../../sdk/index.ts'
import type { Commit } from '../../sdk/ports/commit.ts'
import { hasEnded } from '../../sdk/ports/run.ts'
import type { RunStore } from '../../sdk/ports/run-store.ts'
import { asWritten, runIdAsWritten } from '../../sdk/views/as-written.ts'
import { clockTime, span } from '../../sdk/views/moments.ts'
import { paint } from '../terminal.ts'

interface Known {
  workflow: string
  waits?: string
  /** The step that failed last without further retries, and its error. */
  failed?: { step: string; text: string }
}

/** Prints what happens in runs as it is journaled: starts, failed steps, waits, ends. */
export class Narrator {
  private readonly say: (line: string) => void
  private readonly now: () => number
  /** Active runs, with their last reported wait: the same wait is reported once. */
  private readonly runs = new Map<string, Known>()

  constructor(say: (line: string) => void, now: () => number) {
    this.say = say
    this.now = now
  }

  /** The store itself, with an observer. */
  around(store: RunStore): RunStore {
    const commit: RunStore['commit'] = async (said) => {
      const result = await store.commit(said)
      if (result.ok) this.committed(said, !('suspended' in result) || result.suspended)
      return result
    }
    const claim: RunStore['claim'] = async (runId, lease) => {
      const claimed = await store.claim(runId, lease)
      if (claimed)
        this.claimed(runId, claimed.run.workflow, claimed.frames.length === 0 && claimed.run.generation === 0)
      return claimed
    }
    return new Proxy(store, {
      get(target, property) {
        if (property === 'commit') return commit
        if (property === 'claim') return claim
        const member: unknown = Reflect.get(target, property, target)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
  }

  private claimed(runId: string, workflow: string, isNew: boolean): void {
    if (!this.runs.has(runId)) this.runs.set(runId, { workflow })
    if (isNew) this.tell(runId, 'cyan', '●', 'started')
  }

  private committed({ runId, frame, next }: Commit, suspended: boolean): void {
    for (const event of frame?.events ?? []) this.happened(runId, event)
    if (next.kind === 'suspend' && suspended) {
      const waits = next.waitingFor
        .map(({ kind, id, on }) => (kind === 'sleep' ? `'${asWritten(id)}'` : `${kind} '${asWritten(on ?? id)}'`))
        .join(', ')
      const until =
        next.wakeAt === undefined
          ? ''
          : ` until ${clockTime(next.wakeAt, this.now())} (in ${span(Math.max(0, next.wakeAt - this.now()))})`
      const run = this.runs.get(runId)
      if (run?.waits === waits + next.wakeAt) return
      if (run) run.waits = waits + next.wakeAt
      this.tell(runId, 'yellow', '◌', `${next.status === 'sleeping' ? 'asleep' : 'waits'}${until}: ${waits}`)
    }
    if (next.kind === 'park') this.tell(runId, 'red', '✗', `stuck: ${textOf(next.error)}`)
    if (next.kind === 'continue')
      this.tell(runId, 'cyan', '●', next.attempt > 1 ? `runs again, attempt ${next.attempt}` : 'continues as new')
    if (next.kind === 'end') this.ended(runId, next.event)
  }

  private happened(runId: string, event: JournalEvent): void {
    if (event.type === 'step.retrying') {
      const wait = span(Math.max(0, event.until - this.now()))
      this.tell(
        runId,
        'red',
        '✗',
        `step '${asWritten(event.id)}' failed, attempt ${event.attempt}, next in ${wait}: ${textOf(event.error)}`,
      )
    }
    if (event.type === 'step.failed') this.failedForGood(runId, event)
  }

  private failedForGood(runId: string, event: Extract<JournalEvent, { type: 'step.failed' }>): void {
    const [step, text] = [asWritten(event.id), textOf(event.error)]
    const run = this.runs.get(runId)
    if (run) run.failed = { step, text }
    this.tell(runId, 'red', '✗', `step '${step}' failed for good, attempt ${event.attempt}: ${text}`)
  }

  private ended(runId: string, event: Extract<Commit['next'], { kind: 'end' }>['event']): void {
    const status = event.type.slice('run.'.length)
    if (event.type === 'run.completed') this.tell(runId, 'green', '✓', 'done')
    else
      this.tell(
        runId,
        'red',
        '✗',
        event.type === 'run.failed'
          ? this.failure(runId, textOf(event.error))
          : `${status}${event.reason === undefined ? '' : `: ${event.reason}`}`,
      )
    if (hasEnded(status as Parameters<typeof hasEnded>[0])) this.runs.delete(runId)
  }

  /** Empty if the step's failure has been reported. */
  private failure(runId: string, text: string): string {
    const failed = this.runs.get(runId)?.failed
    return failed?.text === text ? `failed with step '${failed.step}'` : `failed: ${text}`
  }

  private tell(runId: string, colour: 'cyan' | 'green' | 'red' | 'yellow', mark: string, what: string): void {
    const { workflow = '' } = this.runs.get(runId) ?? {}
    this.say(`${paint(colour, mark)} ${workflow} ${paint('dim', runIdAsWritten(runId))} ${what}`)
  }
}

/** The message, and the topmost line of user code in the stack. */
function textOf(error: ErrorRecord): string {
  const root = error.name === 'StepError' && error.cause ? error.cause : error
  const frame = root.stack
    ?.split('\n')
    .find((line) => /^\s+at .*(file:|\/|\\)/.test(line) && !line.includes('node_modules') && !line.includes('node:'))
  return `${root.name}: ${root.message.split('\n')[0]}${frame === undefined ? '' : `\n    ${frame.trim()}`}`
}
