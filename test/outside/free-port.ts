import { createServer } from 'node:net'

/** Below those that the operating system gives to connections: whoever asks for any port gets none of these. */
const FIRST = 10_000
const LAST = 32_000

/**
 * A port for a server that has to be given one, and to come back on it. It may be taken by somebody who asks here at the same
 * time, so they are far between; whoever needs a port only once should listen on 0 and tell.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST))
    if (await isFree(port)) return port
  }
}

/** Until whoever had it has let go. */
export async function untilFree(port: number): Promise<void> {
  while (!(await isFree(port))) await new Promise((resolve) => setTimeout(resolve, 50))
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
