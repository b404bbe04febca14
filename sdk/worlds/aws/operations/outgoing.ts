import type { Outgoing, Wake } from '../../../ports.ts'
import type { Aws } from '../context.ts'
import { inParallel } from '../in-parallel.ts'
import { createRun } from './create.ts'
import { deliverMessage } from './deliver.ts'
import { dispatchTask, withdrawTask } from './dispatch.ts'
import { terminateRun } from './terminate.ts'

/** What a commit causes in other runs. Each part may be done twice, so whoever recovers the sender does all of it again. */
export async function sendOutgoing(aws: Aws, from: string, outgoing: readonly Outgoing[]): Promise<Wake[]> {
  const wakes = await inParallel(outgoing, (item): Promise<Wake[]> => {
    switch (item.kind) {
      case 'start':
        return startChild(aws, from, item)
      case 'deliver':
        return deliverMessage(aws, item.to, item.message).then((delivered) => delivered.wakes)
      case 'terminate':
        return terminateRun(aws, item.run, item.reason).then((terminated) => terminated.wakes)
      case 'dispatch':
        return dispatchTask(aws, item.task).then(() => [])
      case 'withdraw':
        return withdrawTask(aws, item.task).then(() => [])
    }
  })
  return wakes.flat()
}

async function startChild(aws: Aws, from: string, { run: child }: Extract<Outgoing, { kind: 'start' }>): Promise<Wake[]> {
  const { created, run, wakes } = await createRun(aws, child)
  const { parent } = child
  if (created || !parent || (run.parent?.runId === parent.runId && run.parent.op === parent.op)) return wakes
  const error = { name: 'ConflictError', message: `the id '${run.id}' belongs to another run (workflow '${run.workflow}'); give the child another id` }
  const refusal = { id: `conflict ${parent.op}`, kind: 'child' as const, run: run.id, op: parent.op, status: 'failed' as const, error }
  return (await deliverMessage(aws, from, refusal)).wakes
}
