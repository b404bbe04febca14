import type { TaskBroker } from '../tasks/broker.ts'
import { type ResolveBody, resolutionOf } from '../tasks/wire.ts'
import type { Wire } from '../worker/wire.ts'

/** What a worker and the broker say to each other when both are in this process. */
export function brokerWire(broker: TaskBroker): Wire {
  return {
    poll: ({ type, most, signal }) => broker.poll({ types: [type], most, timeoutMs: Number.POSITIVE_INFINITY, signal }),
    async resolve(taskId, body, key) {
      const resolved = await broker.resolve(taskId, { ...resolutionOf(throughJson(body)), key })
      return resolved.ok ? 'done' : 'lost'
    },
  }
}

const throughJson = (body: ResolveBody): ResolveBody => JSON.parse(JSON.stringify(body)) as ResolveBody
