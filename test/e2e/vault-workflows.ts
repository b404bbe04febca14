import { workflow } from '../../sdk/index.ts'

const ofCustomer = { tags: ({ customer }: { customer: number }) => [`customer:${customer}`] }

export const letter = workflow('letter', ofCustomer, async (ctx, { text }: { customer: number; text: string }) => ctx.step('read', () => `${text} was read`))

/** Kept for a second: the sweeper takes all of it. */
export const note = workflow('note', { ...ofCustomer, retention: '1s' }, async (ctx, { text }: { customer: number; text: string }) =>
  ctx.step('read', () => `${text} was read`),
)
