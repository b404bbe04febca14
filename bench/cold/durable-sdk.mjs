import { withDurableExecution } from '@aws/durable-execution-sdk-js'

/** AWS's durable SDK: a workflow of one step. */
export const handler = withDurableExecution(async (_event, ctx) => ctx.step('one', async () => 1))
