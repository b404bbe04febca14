import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type ReadSpan, readSpans } from './otlp-reader.ts'

export interface Collected {
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
}

/** An OTLP endpoint on this machine that keeps what it gets, in the order in which it came. */
export class Collector implements AsyncDisposable {
  readonly requests: Collected[] = []
  url = ''
  /** What it answers; undefined: nothing at all. */
  status: number | undefined = 200
  private listeners: (() => void)[] = []
  private readonly server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      this.requests.push({ path: request.url!, headers: request.headers, body: Buffer.concat(chunks) })
      if (this.status !== undefined) response.writeHead(this.status).end()
      for (const listener of this.listeners.splice(0)) listener()
    })
  })

  static async open(): Promise<Collector> {
    const collector = new Collector()
    await new Promise<void>((resolve) => collector.server.listen(0, '127.0.0.1', resolve))
    collector.url = `http://127.0.0.1:${(collector.server.address() as { port: number }).port}`
    return collector
  }

  get spans(): ReadSpan[] {
    return this.requests.flatMap(({ body }) => readSpans(body))
  }

  async until(isThere: (spans: ReadSpan[]) => boolean): Promise<void> {
    while (!isThere(this.spans)) await new Promise<void>((resolve) => this.listeners.push(resolve))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }
}
