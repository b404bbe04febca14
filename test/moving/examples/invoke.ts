import { workflow } from 'overwinter'

export const invoke = workflow(
  'invoke',
  async (ctx, call: { function: string; payload: Record<string, unknown> }) =>
    ctx.invoke(call.function, call.payload),
)
