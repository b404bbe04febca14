import { expect, it } from 'vitest'
import { inOneGo, type Procedure } from '../../sdk/rules/procedure.ts'
import { newRecord, Runs } from '../../sdk/rules/run-store.ts'
import type { Storage } from '../../sdk/rules/storage.ts'
import { NOW, scripted, stored } from './scripted-storage.ts'

function runs(answers: Partial<Record<keyof Storage, unknown>>) {
  const { storage, calls } = scripted(answers)
  const read = async <T>(procedure: () => Procedure<T>) => inOneGo(procedure())
  const reading = new Proxy(storage, { get: (target, name: keyof Storage) => (name === 'read' ? read : target[name]) })
  return { store: new Runs(reading), calls }
}

it('a run that is missing has no record, no frames and no messages', async () => {
  const { store } = runs({ find: undefined })
  expect(await store.get('nobody')).toBeUndefined()
  expect(await store.frames('nobody')).toEqual([])
  expect(await store.inbox('nobody')).toEqual({ stimulus: 0, epoch: 0, messages: [] })
})

it('readers see the frame that began the generation', async () => {
  for (const [baseSeq, from] of [
    [0, 1],
    [4, 4],
  ]) {
    const { store, calls } = runs({ find: stored({ baseSeq }), frames: [] })
    await store.frames('run')
    expect(calls.at(-1)).toEqual(['frames', stored({ baseSeq }), from])
  }
})

it('the counter of an inbox is as old as the run that was found, and older than its messages (I6)', async () => {
  const { store, calls } = runs({ find: stored(), messagesAfter: { messages: [{ id: 'm1' }], last: 7 } })
  expect(await store.inbox('run', 4)).toEqual({ stimulus: 2, epoch: 5, messages: [{ id: 'm1' }], last: 7 })
  expect(calls.map(([name]) => name)).toEqual(['find', 'messagesAfter'])
})

it('a new run has not begun, and its journal is not part of its record', () => {
  const run = {
    id: 'run',
    workflow: 'order',
    version: 1,
    format: 2,
    input: 1,
    secret: 's',
    createdAt: NOW,
    wakeAt: NOW,
    tags: [],
  }
  const journal = { seq: 1, at: NOW, epoch: 0, events: [] }
  expect(newRecord({ ...run, journal })).toStrictEqual({
    ...run,
    status: 'pending',
    generation: 0,
    attempt: 1,
    baseSeq: 0,
    epoch: 0,
    stimulus: 0,
  })
})
