import { workflow } from 'overwinter'
import { handOut } from './outside.ts'

export const submitters = workflow(
  'submitters',
  async (ctx, { isDown = false }: { isDown?: boolean }) => {
    const { token, promise } = ctx.callback('answer')
    await ctx.step(
      'submit',
      () => {
        if (isDown) throw new Error('nobody takes it')
        handOut(token)
      },
      { retry: { attempts: 4, initial: '1s', factor: 2 } },
    )
    return { answer: await promise, success: true }
  },
)
