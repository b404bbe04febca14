import { expect, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'

test.each([
  [{ concurrency: 5 }, "workflow 'w': write its concurrency as `concurrency: { limit: 5 }`, or as a list of such limits"],
  [{ concurrency: [{ max: 3 }] }, "workflow 'w': write its concurrency as `concurrency: { limit: 5 }`, or as a list of such limits"],
  [{ rateLimit: { rate: 100, per: '1m' } }, "workflow 'w': write its rateLimit as `rateLimit: { limit: 100, per: '1m' }`"],
  [{ rateLimit: { limit: 100 } }, "workflow 'w': write its rateLimit as `rateLimit: { limit: 100, per: '1m' }`"],
])('what is written as for a named limit is refused with what to write on a workflow: %j', (options, message) => {
  expect(() => workflow('w', options as never, async () => 1)).toThrow(message)
})
