import { expect, test } from 'vitest'
import { rampage } from './rampage.ts'

/** The long version is `npm run chaos`. */
test('two servers on one file, killed and frozen under load: every transfer ends, every cent arrives once, nothing is stuck', async () => {
  const { problems, complaints, ...figures } = await rampage({
    seed: 'short',
    transfers: 800,
    kills: 24,
    freezeEvery: 8,
    leaseMs: 2_000,
    pauseMs: 900,
  })
  console.info(JSON.stringify(figures))
  expect(problems).toEqual([])
  expect([...complaints]).toEqual([])
  expect(figures).toMatchObject({ runs: 800, kills: 24, freezes: 3 })
})
