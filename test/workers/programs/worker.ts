import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker, type WorkerTask } from 'overwinter/worker'

/** A worker as a user would write one, in a process of its own. worker.py does the same. */
const { URL: url, TOKEN: token, GRACE_S = '30', HEARTBEAT_S = '0.2', CONNECT = 'yes' } = process.env

const worker = new Worker({
  url: url!,
  token: token!,
  heartbeat: `${Number(HEARTBEAT_S)}s`,
  connect: CONNECT === 'yes',
  tasks: {
    echo: ({ input }) => input,
    /** Says that it has begun, and waits until a file is there. */
    wait: async ({ input, attempt }: WorkerTask<{ file: string }>) => {
      writeFileSync(`${input.file}.begun`, '')
      while (!existsSync(input.file)) await pause(20)
      return { attempt }
    },
    large: () => 'x'.repeat(2 ** 20),
  },
})
process.on('SIGTERM', () => void worker.stop(`${Number(GRACE_S)}s`))
await worker.done
