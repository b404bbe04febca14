import type { Json } from '../engine/json.ts'
import type { TaskBroker } from '../tasks/broker.ts'
import type { Resolution } from '../tasks/lifecycle.ts'
import type { ResolveBody } from '../worker/task.ts'
import type { Wire } from '../worker/wire.ts'

/** What a worker and the broker say to each other when both are in this process. */
export function brokerWire(broker: TaskBroker): Wire {
  return {
    poll: ({ type, most, signal }) => broker.poll({ types: [type], most, timeoutMs: Number.POSITIVE_INFINITY, signal }),
    async resolve(taskId, body, key) {
      const resolved = await broker.resolve(taskId, { ...toResolution(throughJson(body)), key })
      return resolved.ok ? 'done' : 'lost'
    },
  }
}

const throughJson = (body: ResolveBody): ResolveBody => JSON.parse(JSON.stringify(body)) as ResolveBody

function toResolution({ attempt, iteration, action, output, error, retryable, duration_ms, checkpoint, data }: ResolveBody): Resolution {
  const which = { attempt, iteration }
  if (action === 'complete') return { ...which, action, output: output as Json }
  if (action === 'fail') return { ...which, action, error: error!, ...(retryable === false && { retryable }) }
  if (action === 'pause') return { ...which, action, durationMs: duration_ms!, checkpoint: checkpoint as Json }
  if (action === 'checkpoint') return { ...which, action, data: data as Json }
  return { ...which, action, checkpoint: checkpoint as Json }
}
