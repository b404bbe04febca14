import { workflow } from '../../sdk/index.ts'

const ofCustomer = { tags: ({ customer }: { customer: number }) => [`customer:${customer}`] }

export const letter = workflow('letter', ofCustomer, async (ctx, { text }: { customer: number; text: string }) =>
  ctx.step('read', () => `${text} was read`),
)

/** Kept for a second: the sweeper takes all of it. */
export const note = workflow(
  'note',
  { ...ofCustomer, retention: '1s' },
  async (ctx, { text }: { customer: number; text: string }) => ctx.step('read', () => `${text} was read`),
)

export const falls = workflow('falls', ofCustomer, async (_ctx, _: { customer: number }) => {
  throw new TypeError('it fell')
})

/** Called for what failed. It fails too, and nobody is called for that. */
export const tell = workflow(
  'tell',
  async (_ctx, { runId, status, error }: { runId: string; status: string; error: { name: string } }) => {
    throw new Error(JSON.stringify({ runId, status, error: error.name }))
  },
)
