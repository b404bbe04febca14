import { createServer } from 'node:net'
import { FinalError } from './load-entry.ts'

/** A server that was killed a moment ago may still hold its port. */
const PATIENCE_MS = 2_000
const PAUSE_MS = 100

/** Called before the world is opened, so that a second server does not claim runs of the first one and then ends. */
export async function waitForPort(port: number): Promise<void> {
  for (const until = Date.now() + PATIENCE_MS; ; ) {
    if (await isFree(port)) return
    if (Date.now() >= until) {
      throw new FinalError(
        `port ${port} is taken. Stop what runs there, or choose another one: PORT=${port === 65_535 ? 4400 : port + 1}`,
      )
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else reject(new FinalError(`cannot listen on port ${port}: ${error.message}`))
    })
    probe.listen({ port, host: '127.0.0.1' }, () => probe.close(() => resolve(true)))
  })
}
