import * as z from 'zod'
import { type TaskOptions, workflow } from '../../sdk/index.ts'

const Options = z.strictObject({
  heartbeatTimeout: z.string().optional(),
  maxIterations: z.int().min(1).optional(),
  retry: z
    .strictObject({ attempts: z.int().optional(), initial: z.string().optional(), jitter: z.boolean().optional() })
    .optional(),
})

/** Hands out one task as it is told to, so that the conformance suite can look at what a server or a worker makes of it. */
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
