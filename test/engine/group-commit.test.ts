import { describe, expect, it } from 'vitest'
import type { JournalEvent } from '../../sdk/base/events.ts'
import { FrameBuffer } from '../../sdk/engine/frame-buffer.ts'
import type { Commit, CommitResult } from '../../sdk/ports/commit.ts'
import type { Wake, World } from '../../sdk/ports/world.ts'

const done = (id: string): JournalEvent => ({ type: 'step.completed', id })

function buffered({
  progress,
  answer = { ok: true, suspended: false, wakes: [] },
}: {
  progress?: number
  answer?: CommitResult
} = {}) {
  const clock = { time: 1_000 }
  const commits: Commit[] = []
  const sent: Wake[][] = []
  const world = {
    clock: { now: () => clock.time },
    store: {
      async commit(commit: Commit) {
        commits.push(commit)
        return answer
      },
    },
    wakeups: { send: async (wakes: Wake[]) => void sent.push(wakes) },
  } as unknown as World
  return { buffer: new FrameBuffer(world, { id: 'run', epoch: 5, progress }, 7, 900), clock, commits, sent }
}
const keep = { kind: 'keep' } as const

describe('events that are not durable yet', () => {
  it('become one frame, each with its time', async () => {
    const { buffer, clock, commits } = buffered()
    expect(buffer.add(done('a'))).toBe(1_000)
    clock.time = 1_030
    expect(buffer.add(done('b'))).toBe(1_030)
    await buffer.commit(keep)
    expect(commits).toStrictEqual([
      {
        runId: 'run',
        epoch: 5,
        next: keep,
        frame: { seq: 8, at: 1_000, epoch: 5, events: [done('a'), { ...done('b'), dt: 30 }] },
      },
    ])
  })

  it('take the slots one after the other, and each frame has a time of its own', async () => {
    const { buffer, clock, commits } = buffered()
    buffer.add(done('a'))
    await buffer.commit(keep)
    await buffer.commit(keep)
    clock.time = 2_000
    buffer.add(done('b'))
    expect(buffer.nextSeq).toBe(9)
    await buffer.commit(keep)
    expect(commits.map(({ frame }) => frame && [frame.seq, frame.at])).toEqual([[8, 1_000], undefined, [9, 2_000]])
  })

  it('are never older than what the journal has, whatever the clock says', () => {
    const { buffer, clock } = buffered()
    clock.time = 100
    expect(buffer.add(done('a'))).toBe(900)
  })

  it('lose nothing and keep the slot when the commit is refused', async () => {
    const { buffer, sent } = buffered({ answer: { ok: false } })
    let durable = 0
    buffer.add(done('a'), () => durable++)
    expect(await buffer.commit(keep)).toEqual({ ok: false })
    expect([buffer.nextSeq, durable, sent.length]).toEqual([8, 0, 0])
  })

  it('call back once, when they are durable (I3)', async () => {
    const { buffer } = buffered()
    let durable = 0
    buffer.add(done('a'), () => durable++)
    expect(durable).toBe(0)
    await buffer.commit(keep)
    await buffer.commit(keep)
    expect(durable).toBe(1)
  })

  it('take along what was said aside, in front, and only where there is a frame', async () => {
    const { buffer, commits } = buffered()
    buffer.addAside({ type: 'map', id: 'm', count: 1, digest: 'x' })
    expect(buffer.isDirty).toBe(false)
    await buffer.commit(keep)
    buffer.add(done('a'))
    await buffer.commit(keep)
    buffer.add(done('b'))
    await buffer.commit(keep)
    expect(commits.map(({ frame }) => frame?.events.map(({ type }) => type))).toEqual([
      undefined,
      ['map', 'step.completed'],
      ['step.completed'],
    ])
  })

  it('remember what was started elsewhere', () => {
    const { buffer } = buffered()
    const started: JournalEvent[] = [
      { type: 'child.completed', id: 'kid' },
      { type: 'task.completed', id: 'mail' },
    ]
    for (const event of [done('a'), ...started]) buffer.add(event)
    expect(buffer.startedElsewhere).toEqual(started)
  })
})

describe('a commit of a runner', () => {
  it('says what was consumed and sent, once', async () => {
    const { buffer, commits } = buffered()
    const outgoing = { kind: 'terminate', run: 'kid', reason: 'x' } as const
    buffer.consume('m1')
    expect(buffer.isDirty).toBe(false)
    buffer.send(outgoing)
    expect(buffer.isDirty).toBe(true)
    await buffer.commit(keep)
    await buffer.commit(keep)
    expect(commits).toStrictEqual([
      { runId: 'run', epoch: 5, next: keep, consumed: ['m1'], outgoing: [outgoing] },
      { runId: 'run', epoch: 5, next: keep },
    ])
  })

  it('shows progress where it has changed', async () => {
    const { buffer, commits } = buffered({ progress: 40 })
    buffer.setProgress(40)
    expect(buffer.isDirty).toBe(false)
    buffer.setProgress(50)
    expect(buffer.isDirty).toBe(true)
    await buffer.commit(keep)
    expect(buffer.isDirty).toBe(false)
    await buffer.commit(keep)
    expect(commits.map(({ progress }) => progress)).toEqual([50, undefined])
  })

  it('sends the wake-ups that it has to, and no others', async () => {
    const wakes = [{ runId: 'kid', at: 1 }]
    const woken = buffered({ answer: { ok: true, suspended: false, wakes } })
    await woken.buffer.commit(keep)
    expect(woken.sent).toEqual([wakes])
    const none = buffered()
    await none.buffer.commit(keep)
    expect(none.sent).toEqual([])
    none.buffer.add(done('a'))
    expect(none.buffer.isDirty).toBe(true)
  })
})

describe('a process that stood still past its lease', () => {
  const answer = { ok: true as const, suspended: false, wakes: [] }
  const bufferOf = (isOurs: Promise<boolean> | undefined) => {
    const commits: Commit[] = []
    const store = { commit: async (commit: Commit) => (commits.push(commit), answer) }
    const world = { clock: { now: () => 1_000 }, store } as unknown as World
    return { buffer: new FrameBuffer(world, { id: 'run', epoch: 5 }, 7, 900, () => isOurs), commits }
  }

  it('writes no frame of a run that is not its own any more', async () => {
    const { buffer, commits } = bufferOf(Promise.resolve(false))
    buffer.add(done('a'))
    expect(await buffer.commit(keep)).toEqual({ ok: false })
    expect(commits).toEqual([])
  })

  it('writes it once it knows that the run is its own', async () => {
    const { buffer, commits } = bufferOf(Promise.resolve(true))
    buffer.add(done('a'))
    expect(await buffer.commit(keep)).toEqual(answer)
    expect(commits).toHaveLength(1)
  })
})
