import type { NewRun } from '../sdk/ports/run.ts'
import type { World } from '../sdk/ports/world.ts'

const EVERY_MS = 1_000
const STUCK_EVERY = 500
const HELD_EVERY = 1_000
const HELD_FROM = 10
const DAY_MS = 86_400_000

/** So many runs of ten workflows, one of them rare, most of them ended and a few under way; returns when the newest was created. */
export async function fillStore({ store, clock }: World, count: number): Promise<number> {
  const first = clock.now() - count * EVERY_MS
  for (let i = 0; i < count; i++) {
    const id = `run-${i}`
    const isStuck = i % STUCK_EVERY === 0
    const isHeld = i % HELD_EVERY === HELD_FROM
    await store.create(newRun(id, i, first + i * EVERY_MS, isStuck || isHeld))
    if (isHeld) await store.claim(id, { owner: 'bench', ms: DAY_MS })
    else if (isStuck) await store.park(id, { name: 'Error', message: 'odd' })
    else if (i % 10 !== 0) await store.terminate(id, 'done')
  }
  return first + (count - 1) * EVERY_MS
}

function newRun(id: string, i: number, createdAt: number, isDue: boolean): NewRun {
  return {
    ...{
      id,
      workflow: i % 1_000 === 0 ? 'rare' : `w${i % 9}`,
      version: 1,
      format: 2,
      input: { customer: i % 1_000 },
      secret: 'secret',
      createdAt,
    },
    // Only what is due can be taken or get stuck; nobody is to take up the others while they are counted.
    ...{
      wakeAt: isDue ? createdAt : createdAt + 300 * DAY_MS,
      tags: [`customer:${i % 1_000}`, 'shop'],
      commonTags: ['shop'],
      retentionMs: 300 * DAY_MS,
    },
  }
}
