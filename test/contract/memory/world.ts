import type { Frame } from '../../../sdk/base/events.ts'
import type { Json } from '../../../sdk/base/json.ts'
import { isKeyed } from '../../../sdk/base/names.ts'
import { flowControl } from '../../../sdk/flow/control.ts'
import type { NewRun, Reply, RunRecord } from '../../../sdk/ports/run.ts'
import type { RunCounts, RunFilter, RunPage } from '../../../sdk/ports/run-lists.ts'
import type { TaskNotice, TaskStore } from '../../../sdk/ports/tasks.ts'
import type { Clock, Wake, World } from '../../../sdk/ports/world.ts'
import { changed, holds, isGone, isLeased } from '../../../sdk/rules/guard.ts'
import { inOneGo, type Procedure } from '../../../sdk/rules/procedure.ts'
import { newRecord, Runs } from '../../../sdk/rules/run-store.ts'
import type { Change, Forgotten, Mail, Storage, StoredRun, Updated } from '../../../sdk/rules/storage.ts'
import { inShort, summaryOf } from '../../../sdk/rules/summary.ts'
import { settleTask } from '../../../sdk/rules/tasks.ts'
import { asWaiting, type NewTask, type Task } from '../../../sdk/tasks/task.ts'
import { consoleLog, systemIds } from '../../../sdk/worlds/system.ts'
import { MemoryRows, memoryDocuments } from './documents.ts'

/** What a world takes: primitives over a few maps. Everything that decides something is in sdk/rules. */

const copy = <T>(value: T): T => structuredClone(value)

interface Held {
  state: StoredRun
  rest: RunRecord
  frames: Map<number, Frame>
  mail: Map<string, { body: Mail | undefined; at: number; reply?: Reply }>
}

export class MemoryStorage implements Storage {
  private readonly runs = new Map<string, Held>()
  readonly tasks = new Map<string, { task: Task; input: Json | undefined }>()
  private readonly watchers = new Map<string, Set<() => void>>()
  private readonly clock: Clock
  onAnnounced = () => {}

  readonly documents: MemoryRows
  readonly isContended = false

  constructor(clock: Clock) {
    this.clock = clock
    this.documents = new MemoryRows(clock)
  }

  now = () => this.clock.now()
  perform = async <T>(procedure: () => Procedure<T>): Promise<T> => inOneGo(procedure())
  read = this.perform

  wake = (wakes: Wake[]): Wake[] => wakes

  find(runId: string): StoredRun | undefined {
    const state = this.runs.get(runId)?.state
    return state && !isGone(state, this.now()) ? state : undefined
  }

  held(runId: string, epoch: number): StoredRun | undefined {
    const state = this.find(runId)
    return state?.epoch === epoch && state.status === 'running' ? state : undefined
  }

  record({ id }: StoredRun): RunRecord {
    const { state, rest } = this.runs.get(id)!
    const { claims: _c, leaseUntil, wakeAt, hasSeed: _s, ...seen } = state
    const { wakeAt: _w, ...others } = rest
    const lookAt = leaseUntil ?? wakeAt
    const record = { ...others, ...seen, ...(lookAt !== undefined && { wakeAt: lookAt }) }
    if (state.endedAt === undefined) delete record.endedAt
    return copy(record)
  }

  insert(run: NewRun): { inserted: boolean; run: StoredRun } {
    const there = this.find(run.id)
    if (there) return { inserted: false, run: there }
    const rest = copy(newRecord(run))
    const { id, workflow, version, format, createdAt, wakeAt, retentionMs, parent } = run
    const numbers = { generation: 0, baseSeq: 0, epoch: 0, stimulus: 0, claims: 0 }
    const state: StoredRun = {
      id,
      workflow,
      version,
      format,
      status: rest.status,
      ...numbers,
      createdAt,
      wakeAt: run.status === 'queued' ? undefined : wakeAt,
      admission: rest.admission,
      passed: rest.passed,
      retentionMs,
      parent,
      hasSeed: run.journal !== undefined,
    }
    this.runs.set(run.id, { state, rest, frames: new Map(run.journal && [[1, copy(run.journal)]]), mail: new Map() })
    return { inserted: true, run: state }
  }

  update(run: StoredRun | string, change: Change): Updated {
    const held = this.runs.get(typeof run === 'string' ? run : run.id)
    if (!held || !holds(change.when, held.state)) return { ok: false, run: held?.state }
    held.state = changed(held.state, change)
    const { owner: _o, claims: _c, leaseUntil: _l, ...fields } = change.set ?? {}
    for (const [name, value] of Object.entries(fields)) {
      if (value === undefined) delete (held.rest as unknown as Record<string, unknown>)[name]
      else Object.assign(held.rest, { [name]: copy(value) })
    }
    if (change.setOnce) held.rest.startedAt ??= change.setOnce.startedAt
    this.tell(held.state.id)
    return { ok: true, run: held.state }
  }

  append({ id }: StoredRun, frame: Frame): boolean {
    const { frames } = this.runs.get(id)!
    if (frames.has(frame.seq)) return false
    frames.set(frame.seq, copy(frame))
    return true
  }

  frames({ id }: StoredRun, fromSeq: number): Frame[] {
    const frames = [...this.runs.get(id)!.frames.values()].filter(({ seq }) => seq >= fromSeq)
    return copy(frames.sort((a, b) => a.seq - b.seq))
  }

  load(run: StoredRun): { heading?: Frame; frames: Frame[]; inbox: Mail[] } {
    const frames = this.frames(run, Math.max(1, run.baseSeq))
    const heading = frames[0]?.seq === run.baseSeq ? frames.shift() : undefined
    return { ...(heading && { heading }), frames, inbox: this.messages(run) }
  }

  dropFrames({ id }: StoredRun, before: number): void {
    const { frames } = this.runs.get(id)!
    for (const seq of frames.keys()) if (seq < before) frames.delete(seq)
  }

  putMessage({ id }: StoredRun, message: Mail): 'new' | 'waiting' | 'consumed' {
    const { mail } = this.runs.get(id)!
    const there = mail.get(message.id)
    if (there) return there.body ? 'waiting' : 'consumed'
    mail.set(message.id, { body: copy(message), at: this.now() })
    this.tell(id)
    return 'new'
  }

  messages({ id }: StoredRun): Mail[] {
    return copy([...this.runs.get(id)!.mail.values()].flatMap(({ body }) => body ?? []))
  }

  findMessage = ({ id }: StoredRun, messageId: string): Mail | undefined =>
    copy(this.runs.get(id)!.mail.get(messageId)?.body)
  removeMessages({ id }: StoredRun, ids: readonly string[]): void {
    for (const each of ids) this.runs.get(id)!.mail.delete(each)
  }

  consume({ id }: StoredRun, ids: readonly string[]): void {
    const { mail } = this.runs.get(id)!
    for (const each of ids) if (mail.has(each)) mail.set(each, { ...mail.get(each)!, body: undefined })
  }

  putReply({ id }: StoredRun, messageId: string, reply: Reply): void {
    const asked = this.runs.get(id)!.mail.get(messageId)
    if (!asked || asked.reply) return
    Object.assign(asked, { reply: copy(reply), at: this.now() })
    this.tell(id)
  }

  findReply({ id }: StoredRun, messageId: string): Reply | undefined {
    return copy(this.runs.get(id)!.mail.get(messageId)?.reply)
  }

  clearMail({ id }: StoredRun, which: 'all' | Forgotten): void {
    const { mail } = this.runs.get(id)!
    for (const [each, { body, at, reply }] of mail) {
      const isOld = which === 'all' ? !reply : !body && at < (isKeyed(each) ? which.keyedBefore : which.othersBefore)
      if (isOld) mail.delete(each)
    }
  }

  findTask = (taskId: string): Task | undefined => copy(this.tasks.get(taskId)?.task)

  putTask(_run: StoredRun, task: NewTask, older?: Task): { ok: true; task: Task } | { ok: false; there: Task } {
    const there = this.findTask(task.id)
    if (there && there.version !== older?.version) return { ok: false, there }
    const waiting = asWaiting(copy(task), (there?.version ?? 0) + 1)
    this.tasks.set(task.id, { task: waiting, input: copy(task.input) })
    return { ok: true, task: waiting }
  }

  writeTask(task: Task): boolean {
    const there = this.tasks.get(task.id)
    if (there?.task.version !== task.version) return false
    there.task = { ...copy(task), version: task.version + 1 }
    return true
  }

  eraseRemains = (): boolean => false
  eraseFormer = async (): Promise<{ erased: number }> => ({ erased: 0 })
  announceTask = (): void => this.onAnnounced()
  dismissTask = (): void => {}
  erase({ id }: StoredRun, taskIds: readonly string[]): void {
    this.runs.delete(id)
    for (const taskId of taskIds) this.tasks.delete(taskId)
    this.tell(id)
  }

  async list(filter: RunFilter): Promise<RunPage> {
    const { workflow, status, tag, isOpen, idPrefix = '', from, to, cursor, limit } = filter
    const all = [...this.runs.keys()].reverse().flatMap((id) => (this.find(id) ? [this.record(this.find(id)!)] : []))
    const found = all.filter(
      (run) =>
        (workflow ?? run.workflow) === run.workflow &&
        (status ?? run.status) === run.status &&
        (tag === undefined || run.tags.includes(tag)) &&
        !(isOpen && run.endedAt !== undefined) &&
        run.id.startsWith(idPrefix) &&
        run.createdAt >= (from ?? 0) &&
        run.createdAt < (to ?? Number.POSITIVE_INFINITY),
    )
    const begin = cursor === undefined ? 0 : found.findIndex(({ id }) => id === cursor) + 1
    const runs = found
      .slice(begin, begin + limit)
      .map((run) => summaryOf(run, run.error && inShort(run.workflow, run.error)))
    return { runs, ...(begin + limit < found.length && { cursor: runs.at(-1)!.runId }) }
  }

  async counts(): Promise<RunCounts> {
    const counts: RunCounts = {}
    for (const id of this.runs.keys())
      for (const { status } of [this.find(id)!].filter(Boolean))
        counts[status] = { count: (counts[status]?.count ?? 0) + 1 }
    return counts
  }

  async overdue(before: number, limit: number): Promise<Wake[]> {
    const due = [...this.runs.values()].filter(
      ({ state }) => state.wakeAt !== undefined && state.wakeAt <= before && !isLeased(state, before),
    )
    return due.slice(0, limit).map(({ state }) => ({ runId: state.id, at: state.leaseUntil ?? state.wakeAt! }))
  }

  dueDocuments = async (before: number, limit: number) => this.documents.due(before, limit)

  watch = (runId: string, onChange: () => void): (() => void) => {
    const watchers = this.watchers.get(runId) ?? new Set()
    this.watchers.set(runId, watchers.add(onChange))
    return () => watchers.delete(onChange)
  }

  private tell(runId: string): void {
    for (const onChange of [...(this.watchers.get(runId) ?? [])]) queueMicrotask(onChange)
  }
}

export function memoryWorld(clock: Clock, storage = new MemoryStorage(clock)): World {
  const told = new Map<string, number>()
  const tasks: TaskStore = {
    isOpenToWorkers: false,
    refusal: () => undefined,
    get: async (taskId) => storage.findTask(taskId),
    inputOf: async ({ id }) => copy(storage.tasks.get(id)?.input),
    async receive(types, most) {
      const now = clock.now()
      const open = [...storage.tasks.values()].filter(
        ({ task }) =>
          types.includes(task.type) &&
          (task.lookAt ?? Number.POSITIVE_INFINITY) <= now &&
          !((told.get(task.id) ?? 0) > now),
      )
      const notices: TaskNotice[] = open.slice(0, most).map(({ task }) => ({ taskId: task.id, type: task.type }))
      for (const { taskId } of notices) told.set(taskId, now + 10_000)
      return notices
    },
    putBack: async ({ taskId }, lookAt) => void told.set(taskId, lookAt ?? 0),
    async save(task) {
      told.delete(task.id)
      return storage.writeTask(task)
    },
    settle: (task) => storage.perform(() => settleTask(storage, task)),
  }
  return {
    store: new Runs(storage),
    documents: memoryDocuments(storage.documents),
    tasks,
    wakeups: { send: async () => {} },
    clock,
    ids: systemIds,
    log: consoleLog,
    inlineWaitMs: 0,
    flow: flowControl,
  }
}
