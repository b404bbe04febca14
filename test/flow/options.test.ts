import { expect, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

test.each([
  [
    { concurrency: 5 },
    "workflow 'w': write its concurrency as `concurrency: { limit: 5 }`, or as a list of such limits",
  ],
  [
    { concurrency: [{ max: 3 }] },
    "workflow 'w': write its concurrency as `concurrency: { limit: 5 }`, or as a list of such limits",
  ],
  [
    { rateLimit: { rate: 100, per: '1m' } },
    "workflow 'w': write its rateLimit as `rateLimit: { limit: 100, per: '1m' }`",
  ],
  [{ rateLimit: { limit: 100 } }, "workflow 'w': write its rateLimit as `rateLimit: { limit: 100, per: '1m' }`"],
])('what is written as for a named limit is refused with what to write on a workflow: %j', (options, message) => {
  expect(() => workflow('w', options as never, async () => 1)).toThrow(message)
})

test.each([
  [
    { rateLimit: 0 },
    "workflow 'w': write its rateLimit as `rateLimit: { limit: 100, per: '1m' }`, or leave it out; got 0",
  ],
  [{ debounce: false }, 'or leave it out; got false'],
  [{ batch: null }, 'or leave it out; got null'],
  [{ concurrency: [] }, 'its concurrency is an empty list; leave it out'],
])('what looks as if it switched something off is refused: %j', (options, message) => {
  expect(() => workflow('w', options as never, async () => 1)).toThrow(message)
})

test.each(['concurrency', 'priority'] as const)(
  'a %s made of a promise is refused, whether that comes to something or not, and nothing is written',
  async (name) => {
    for (const of of [async () => 'a', () => Promise.reject(new Error('no'))]) {
      const w = workflow('w', { [name]: name === 'concurrency' ? { limit: 1, key: of } : of } as never, async () => 1)
      const env = await testEnv({ workflows: [w] })
      await expect(env.client.start(w)).rejects.toThrow(
        'it gives a promise, and has to be made at once, of the input alone',
      )
      expect((await env.client.list()).runs).toEqual([])
    }
  },
)

test.each([[null], [undefined], [{ concurrency: null }], [{ rate: null, per: '1s' }]])(
  'setting a limit to %j is refused with what to say instead',
  async (options) => {
    const w = workflow('w', { concurrency: { limit: 3 } }, async () => 1)
    const env = await testEnv({ workflows: [w] })
    await (await env.start(w, undefined)).result()
    await expect(env.client.limits.set('w:concurrency', options as never)).rejects.toThrow('say which numbers of limit')
    expect(await env.client.limits.get('w:concurrency')).toMatchObject({ inForce: { concurrency: 3 }, isSet: false })
  },
)
