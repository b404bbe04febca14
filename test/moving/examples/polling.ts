import { workflow } from 'overwinter'

export const polling = workflow('polling', async (ctx) =>
  ctx.until('ready', ({ round }) => round >= 3 && round, { every: '1s' }),
)
