import type { JournalEvent } from '../../sdk/base/events.ts'
import { FORMAT } from '../../sdk/base/names.ts'
import type { RunnerOptions } from '../../sdk/engine/visit.ts'
import { Visit } from '../../sdk/engine/visit.ts'
import type { Commit, CommitResult, Outgoing } from '../../sdk/ports/commit.ts'
import type { RunRecord } from '../../sdk/ports/run.ts'
import type { Claimed } from '../../sdk/ports/run-store.ts'
import type { World } from '../../sdk/ports/world.ts'
import { newRecord } from '../../sdk/rules/run-store.ts'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { memoryWorld } from '../contract/memory/world.ts'

interface Setting {
  now: number
  run?: Partial<RunRecord>
  claimed?: Partial<Claimed>
  world?: Partial<World>
  options?: Partial<RunnerOptions>
  /** What a commit is answered with. */
  commit?: (commit: Commit) => CommitResult
}

/**
 * One visit of a run whose code is not there to move it: its parts are called by the test. All that they journal, send,
 * commit and say is kept in order.
 */
export function visitOf({ now, run, claimed, world: others, options, commit }: Setting) {
  const clock = new VirtualClock(now)
  const journaled: JournalEvent[] = []
  const sent: Outgoing[] = []
  const commits: Commit[] = []
  const said: unknown[][] = []
  const beats: unknown[] = []
  const stops: Error[] = []
  let wakes = 0
  const memory = memoryWorld(clock)
  const store = Object.assign(memory.store, {
    async commit(made: Commit): Promise<CommitResult> {
      commits.push(made)
      return commit?.(made) ?? { ok: true, suspended: made.next.kind !== 'keep', wakes: [] }
    },
    async renew(_id: string, _epoch: number, _lease: unknown, heartbeat?: unknown) {
      if (heartbeat) beats.push(heartbeat)
      return { stimulus: record.stimulus }
    },
  })
  const log = (...each: unknown[]) => void said.push(each)
  const ids = { ...memory.ids, random: () => 1, secret: () => 'secret' }
  const world: World = { ...memory, store, log, ids, ...others }
  const common = { id: 'run', workflow: 'order', version: 1, format: FORMAT, input: undefined, secret: 's', tags: [] }
  const record: RunRecord = {
    ...newRecord({ ...common, createdAt: now, wakeAt: now }),
    status: 'running',
    epoch: 1,
    ...run,
  }
  const given = { frames: [], inbox: [], recovered: false, lastGoodEpoch: 0, deaths: 0, ...claimed }
  const visit = new Visit(world, { run: record, ...given }, { lease: { owner: 'runner', ms: 30_000 }, ...options })
  const { buffer, replay, waker } = visit
  const [add, send, sendInstead] = [buffer.add.bind(buffer), buffer.send.bind(buffer), buffer.sendInstead.bind(buffer)]
  buffer.add = (event, durable) => {
    journaled.push(event)
    return add(event, durable)
  }
  buffer.send = (item) => {
    sent.push(item)
    send(item)
  }
  buffer.sendInstead = (item) => {
    sent.push(item)
    sendInstead(item)
  }
  waker.wake = () => void wakes++
  // With what the run was asked to stop: the code, which would be told, is not there.
  Object.defineProperties(replay, {
    stopRequested: { get: () => stops.at(-1) },
    stopsRequested: { get: () => stops.length },
  })
  return { visit, world, clock, journaled, sent, commits, said, beats, stops, wakes: () => wakes }
}
