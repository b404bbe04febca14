import { workflow } from 'overwinter'
import { handOut } from './outside.ts'

/** Whoever has the job says now and then that it is still at it. */
export const heartbeat = workflow('heartbeat', async (ctx) => {
  const { token, promise } = ctx.callback('job', { heartbeatTimeout: '15s' })
  await ctx.step('submit', () => handOut(token))
  return { answer: await promise, completed: true }
})
