import { workflow } from 'overwinter'

export const retries = workflow('retries', async (ctx) =>
  ctx.step(
    'charge',
    () => {
      if (Math.random() < 0.5) throw new Error('the bank hung up')
      return 'charged'
    },
    { retry: { attempts: 3, jitter: false }, semantics: 'at-most-once' },
  ),
)
