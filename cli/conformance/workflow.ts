import * as z from 'zod'
import { type TaskOptions, workflow } from '../../sdk/index.ts'

const Options = z.strictObject({
  heartbeatTimeout: z.string().optional(),
  maxIterations: z.int().min(1).optional(),
  retry: z
    .strictObject({ attempts: z.int().optional(), initial: z.string().optional(), jitter: z.boolean().optional() })
    .optional(),
})

/** Dispatches one task as its input says, so that the conformance suite can observe a server or a worker. */
export const conformance = workflow(
  'conformance',
  {
    input: z.object({
      type: z.string().default('conformance'),
      input: z.unknown().optional(),
      options: Options.optional(),
    }),
  },
  async (ctx, { type, input, options }) => ctx.task(type, input, options as TaskOptions | undefined),
)
