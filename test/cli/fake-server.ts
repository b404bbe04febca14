import { createServer, type IncomingMessage } from 'node:http'

export interface Asked {
  request: IncomingMessage
  body: string
}

export interface FakeServer extends AsyncDisposable {
  url: string
  asked: Asked[]
}

/** Answers what it is told to, and keeps what it was asked. */
export async function fakeServer(answer: (asked: Asked) => { status?: number; body: string }): Promise<FakeServer> {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      asked.push({ request, body })
      const { status = 200, body: text } = answer({ request, body })
      response.writeHead(status).end(text)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
