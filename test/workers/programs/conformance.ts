import { setTimeout as pause } from 'node:timers/promises'
import { FatalError, Worker } from 'overwinter/worker'

/** Does what `overwinter conformance --worker` asks for. conformance.py does the same. */
const { OVERWINTER_URL: url, OVERWINTER_WORKER_TOKEN: token } = process.env

const worker = new Worker({
  url: url!,
  token: token!,
  tasks: {
    echo: ({ input }) => input,
    'fail-once': ({ attempt }) => {
      if (attempt === 1) throw new Error('once')
      return { attempt }
    },
    fatal: () => {
      throw new FatalError('never')
    },
    'pause-once': (task) => task.lastCheckpoint ?? task.pause('cool-down', 500, { page: 2 }),
    'count-to-three': (task) => {
      const counted = [...((task.lastCheckpoint as number[] | undefined) ?? []), task.iteration]
      return task.iteration < 3 ? task.goOn(counted) : counted
    },
    slow: async ({ attempt, checkpoint }) => {
      for (let i = 0; i < 5; i++) {
        await pause(500)
        await checkpoint(i)
      }
      return { attempt }
    },
    'crash-once': async ({ attempt, checkpoint, lastCheckpoint }) => {
      if (attempt > 1) return lastCheckpoint
      await checkpoint({ done: 1 })
      process.kill(process.pid, 'SIGKILL')
      return undefined
    },
  },
})
await worker.done
