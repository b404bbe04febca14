import { serveLocal } from '../../functions/local/serve.ts'
import { schedules, workflows } from './workflows.ts'

const server = await serveLocal({ port: 4477, workflows, schedules, exposeStacks: true, path: ':memory:' } as never)
console.log(server.url)
const start = (name: string, body: object) =>
  fetch(`${server.url}/workflows/${name}/runs`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }).then(
    async (r) => console.log(name, r.status, await r.text()),
  )
await start('order', { id: 'order-1', input: { customer: 'Ada', amount: 12, kind: 'book' } })
await start('nap', { id: 'nap-1', input: {} })
for (let i = 0; i < 6; i++) await start('payment', { id: `payment-${i}`, input: { order: `o-${i}` } })
await start('batch', { id: 'batch-1', input: { items: 40 } })
await start('echo', {
  id: 'echo-1',
  input: { html: '<script>alert(1)</script>', when: { '~date': '2026-01-01T00:00:00.000Z' }, deep: { a: { b: { c: [1, 2, 3] } } } },
})
await start('review', { id: 'review-1', input: { document: 'x' } })
await start('talk', { id: 'talk-1' })
await start('diamond', { id: 'diamond-1', input: { cents: 100 } })
