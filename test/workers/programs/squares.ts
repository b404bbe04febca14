import { setTimeout as pause } from 'node:timers/promises'
import { Worker, type WorkerTask } from 'overwinter/worker'

/** A worker to be killed. squares.py does the same. */
const { URL: url, TOKEN: token } = process.env

async function square({ input: { n, ms } }: WorkerTask<{ n: number; ms: number }>): Promise<number> {
  await pause(ms)
  return n * n
}

await new Worker({ url: url!, token: token!, tasks: { square }, heartbeat: 500, log: () => {} }).done
