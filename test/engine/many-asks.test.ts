import { afterEach, expect, test, vi } from 'vitest'
import { request, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { Database } from '../../sdk/worlds/local/database.ts'

afterEach(() => void vi.restoreAllMocks())

const question = request('question')

/** What each of so many requests to one run costs, all of them open at once: statements, and rows that were read. */
async function costOf(many: number, comeAtOnce: boolean) {
  const cost = { statements: 0, rows: 0 }
  const { row, rows, values, allValues, run } = Database.prototype
  for (const [name, original] of Object.entries({ row, rows, values, allValues, run })) {
    vi.spyOn(Database.prototype, name as 'rows').mockImplementation(function (this: Database, ...args) {
      const found = (original as typeof rows).apply(this, args)
      cost.statements++
      cost.rows += Array.isArray(found) && name !== 'values' ? found.length : 1
      return found
    })
  }
  const begins = Promise.withResolvers<void>()
  const clerk = workflow('clerk', async (ctx) => {
    for (let i = 0; i < many; i++) {
      const asked = await ctx.waitFor(question)
      await ctx.step('work', () => (i === 0 ? begins.promise : undefined))
      asked.reply(i as never)
    }
  })
  await using local = await Local.open({ path: ':memory:', workflows: [clerk], log: () => {} })
  const { runId } = await local.start(clerk, undefined)
  const asks: Promise<unknown>[] = []
  for (let i = 0; i < many; i++) {
    asks.push(local.ask(runId, question, undefined as never, { timeout: '1m' }))
    // The runner hears of each by itself, while it is busy with the first.
    if (!comeAtOnce) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  begins.resolve()
  await Promise.all(asks)
  vi.restoreAllMocks()
  return { statements: cost.statements / many, rows: cost.rows / many }
}

test.each([
  ['at once', true],
  ['one after the other', false],
])(
  'requests that come %s to one run: each costs as much beside 239 others as beside 39',
  async (_, comeAtOnce) => {
    const few = await costOf(40, comeAtOnce)
    const many = await costOf(240, comeAtOnce)
    expect(many.statements).toBeLessThan(few.statements * 1.5)
    expect(many.rows).toBeLessThan(few.rows * 1.5)
  },
  60_000,
)

test('of many that asked a run which ends without a reply, one reads its journal for all', async () => {
  const silent = workflow('silent', async (ctx) => {
    for (let i = 0; i < 50; i++) await ctx.waitFor(question)
  })
  await using local = await Local.open({ path: ':memory:', workflows: [silent], log: () => {} })
  const { runId } = await local.start(silent, undefined)
  const reading = vi.spyOn(local.world.store, 'frames')
  const asks = Array.from({ length: 50 }, () => local.ask(runId, question, undefined as never, { timeout: '1m' }))
  const answers = await Promise.allSettled(asks)
  expect(answers.every(({ status }) => status === 'rejected')).toBe(true)
  expect(String((answers[0] as PromiseRejectedResult).reason)).toContain('has ended (completed) without a reply')
  expect(reading.mock.calls.length).toBeLessThan(10)
})
