import { expect, test } from 'vitest'
import { Forwarder } from '../../cli/ui/forwarder.ts'

test('a stream of changes ends quietly when its page is closed', async () => {
  const paths = { '/changes': { get: {} }, '/runs/{id}': { get: {} } }
  const api = async (request: Request, { signal }: RequestInit = {}) => {
    if (request.url.endsWith('/openapi.json')) return Response.json({ openapi: '3.1.0', paths })
    const changes = new ReadableStream({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode('data: 1\n\n'))
        signal!.addEventListener('abort', () => controller.error(new DOMException('aborted', 'AbortError')))
      },
    })
    return new Response(changes)
  }
  const forwarder = await Forwarder.to({ url: 'http://api.test', fetch: api as unknown as typeof fetch }, true)
  const page = new AbortController()
  const response = await forwarder.forward(new Request('http://here/changes', { signal: page.signal }), '/changes')
  const reader = response.body!.getReader()
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('data: 1\n\n')
  page.abort()
  expect(await reader.read()).toEqual({ done: true, value: undefined })
})
