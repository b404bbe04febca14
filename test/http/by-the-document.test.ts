import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { mismatchesOf } from './by-the-document.ts'

const RUN = {
  runId: 'r',
  workflow: 'w',
  version: 1,
  status: 'completed',
  createdAt: '2026-01-01T00:00:00.000Z',
  tags: [],
  generation: 0,
  attempt: 1,
}
const answer = (body: unknown, status = 200, type = 'application/json') =>
  mismatchesOf('GET', '/runs/r', new Response(JSON.stringify(body), { status, headers: { 'content-type': type } }))

test('an answer that the document has is none to speak of', async () => {
  expect(await answer(RUN)).toEqual([])
})

test.each([
  ['a field that it does not know', answer({ ...RUN, secret: 's' }), /additional properties.*secret/],
  ['a field that is missing', answer({ ...RUN, tags: undefined }), /required property 'tags'/],
  ['a field of another type', answer({ ...RUN, generation: '0' }), /\/generation must be integer/],
  ['a time that is none', answer({ ...RUN, createdAt: 'today' }), /\/createdAt must match format "date-time"/],
  ['a state that there is not', answer({ ...RUN, status: 'tired' }), /\/status must be equal to one of/],
  ['a status that the route has not', answer(RUN, 201), /201: no such status/],
  ['content of another type', answer(RUN, 200, 'text/html'), /no content of type 'text\/html'/],
])('%s is found', async (_what, found, message) => {
  expect((await found).join('\n')).toMatch(message)
})

test('a test of HTTP that has an app or a server has them checked', () => {
  for (const file of readdirSync(import.meta.dirname).filter((name) => name.endsWith('.test.ts'))) {
    const text = readFileSync(`${import.meta.dirname}/${file}`, 'utf8')
    expect(text, file).not.toMatch(
      /import (?!type)[^;]*?\b(createApp|createCallbackApp|serveLocal)\b[^']*'[^']*(http\/app|local\/serve)\.ts'/,
    )
  }
})
