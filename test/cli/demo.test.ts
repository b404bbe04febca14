import { expect, test } from 'vitest'
import { Running, root } from './fixture.ts'

test('npm run demo kills a process mid-sleep, shows that nothing is repeated, and ends by itself', async () => {
  const began = Date.now()
  await using demo = new Running('npm', ['run', '-s', 'demo'], { cwd: root })
  expect(await demo.exited, demo.stderr).toBe(0)
  expect(Date.now() - began).toBeLessThan(30_000)
  const [first, second] = [...demo.stdout.matchAll(/process (\d+) is up/g)].map(([, pid]) => pid)
  expect(first).not.toBe(second)
  expect(demo.stdout).toContain(`process ${first} was killed (SIGKILL), in the middle of the sleep`)
  const done = [...demo.stdout.matchAll(/^ {2}(\S.*?) +process (\d+)$/gm)].map(([, what, pid]) => [what, pid])
  expect(done.map(([what]) => what)).toEqual(['charged 42 €', 'packed a kettle', expect.any(String), expect.any(String)])
  expect(done.map(([, pid]) => pid)).toEqual([first, first, second, second])
  expect(demo.stdout).toMatch(/Everything happened once, and the sleep ended \d+ ms after it was due/)
})
