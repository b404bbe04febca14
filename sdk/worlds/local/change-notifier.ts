import type { Database } from './database.ts'

const GLANCE_EVERY_MS = 100

/** Notifies waiters in this process of what this or another process has written. */
export class ChangeNotifier {
  private readonly db: Database
  private readonly watchers = new Map<string, Set<() => void>>()
  /** Those of them that hold their run: they know its replies already. */
  private readonly holders = new Set<() => void>()
  /** Callers that wait for replies of a run, by the message that asked. */
  private readonly askers = new Map<string, Map<string, Set<() => void>>>()
  private readonly foreignWriteListeners = new Set<() => void>()
  private readonly listeners = new Set<(runIds: readonly string[] | 'all') => void>()
  private readonly glance: NodeJS.Timeout | undefined
  /** Called when a run has dispatched tasks. */
  onDispatch: (() => void) | undefined

  constructor(db: Database) {
    this.db = db
    if (!db.isInMemory) this.glance = this.watchOtherProcesses()
  }

  watch(runId: string, onChange: () => void, isHolder = false): () => void {
    const watchers = this.watchers.get(runId) ?? new Set()
    this.watchers.set(runId, watchers.add(onChange))
    if (isHolder) this.holders.add(onChange)
    return () => {
      watchers.delete(onChange)
      this.holders.delete(onChange)
      if (watchers.size === 0 && this.watchers.get(runId) === watchers) this.watchers.delete(runId)
    }
  }

  /**
   * Called only when that message may have a reply, or will never get one: a reply to one ask does
   * not make all askers read.
   */
  watchReply(runId: string, messageId: string, onChange: () => void): () => void {
    const ofRun = this.askers.get(runId) ?? new Map<string, Set<() => void>>()
    const ofMessage = ofRun.get(messageId) ?? new Set()
    this.askers.set(runId, ofRun.set(messageId, ofMessage.add(onChange)))
    return () => {
      ofMessage.delete(onChange)
      if (ofMessage.size === 0 && ofRun.get(messageId) === ofMessage) ofRun.delete(messageId)
      if (ofRun.size === 0 && this.askers.get(runId) === ofRun) this.askers.delete(runId)
    }
  }

  answered(news: readonly (readonly [runId: string, messageId: string | undefined])[]): void {
    for (const [runId, messageId] of news) this.tellAskers(runId, messageId)
    const replied = new Set(news.flatMap(([runId, messageId]) => (messageId === undefined ? [] : [runId])))
    if (replied.size === 0) return
    for (const listener of this.listeners) listener([...replied])
    for (const runId of replied)
      for (const onChange of [...(this.watchers.get(runId) ?? [])]) if (!this.holders.has(onChange)) onChange()
  }

  private tellAskers(runId: string, messageId?: string): void {
    const ofRun = this.askers.get(runId)
    const concerned =
      messageId === undefined
        ? [...(ofRun?.values() ?? [])].flatMap((each) => [...each])
        : [...(ofRun?.get(messageId) ?? [])]
    for (const onChange of concerned) onChange()
  }

  /**
   * Calls back when runs have changed; `all` after a write of another process, which does not say
   * which runs.
   */
  onChange(listener: (runIds: readonly string[] | 'all') => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  changed(runIds: readonly string[]): void {
    for (const listener of this.listeners) listener(runIds)
    if (this.watchers.size === 0) return
    for (const runId of new Set(runIds)) for (const onChange of [...(this.watchers.get(runId) ?? [])]) onChange()
  }

  dispatched(): void {
    this.onDispatch?.()
  }

  /** Calls back when another process has written to the file. */
  onForeignWrite(listener: () => void): () => void {
    this.foreignWriteListeners.add(listener)
    return () => this.foreignWriteListeners.delete(listener)
  }

  close(): void {
    clearInterval(this.glance)
  }

  /** A file that cannot be read right now is an error for the next caller that needs it, not here. */
  private glanceAt(version: () => number, otherwise: number): number {
    try {
      return version()
    } catch {
      return otherwise
    }
  }

  /** SQLite cannot notify other processes, so this polls a counter, which is cheap. */
  private watchOtherProcesses(): NodeJS.Timeout {
    const version = () => this.db.row('PRAGMA data_version')!.data_version as number
    let seen = version()
    return setInterval(() => {
      const now = this.glanceAt(version, seen)
      if (now === seen) return
      seen = now
      for (const runId of this.watchers.keys()) for (const onChange of [...this.watchers.get(runId)!]) onChange()
      for (const runId of [...this.askers.keys()]) this.tellAskers(runId)
      for (const listener of this.listeners) listener('all')
      for (const listener of this.foreignWriteListeners) listener()
    }, GLANCE_EVERY_MS).unref()
  }
}
