import type { NewRun, World } from '../sdk/ports.ts'

const EVERY_MS = 1_000

/** So many runs of ten workflows, one of them rare, most of them ended; returns when the newest was created. */
export async function fillStore({ store, clock }: World, count: number): Promise<number> {
  const first = clock.now() - count * EVERY_MS
  for (let i = 0; i < count; i++) {
    const id = `run-${i}`
    await store.create(newRun(id, i, first + i * EVERY_MS))
    if (i % 500 === 0) await store.park(id, { name: 'Error', message: 'odd' })
    else if (i % 10 !== 0) await store.terminate(id, 'done')
  }
  return first + (count - 1) * EVERY_MS
}

const DAY_MS = 86_400_000

function newRun(id: string, i: number, createdAt: number): NewRun {
  return {
    ...{ id, workflow: i % 1_000 === 0 ? 'rare' : `w${i % 9}`, version: 1, format: 2, input: { customer: i % 1_000 }, secret: 'secret', createdAt },
    // Nobody is to take them up while they are counted.
    ...{ wakeAt: createdAt + 300 * DAY_MS, tags: [`customer:${i % 1_000}`, 'shop'], commonTags: ['shop'], retentionMs: 300 * DAY_MS },
  }
}
