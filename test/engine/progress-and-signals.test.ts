import { expect, test } from 'vitest'
import { signal, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'

test('progress that was set before a signal came in between stays', async () => {
  const report = workflow('report', async (ctx) => {
    await ctx.step('look', () => 1)
    ctx.progress({ at: 1 })
    await ctx.waitFor(signal('go'))
    await ctx.step('end', () => 2)
  })
  const local = await Local.open({ path: ':memory:', workflows: [report], log: () => {} })
  await local.start(report, undefined, { id: 'r' })
  await local.signal('r', 'go', undefined)
  await local.result('r')
  expect((await local.get('r')).progress).toEqual({ at: 1 })
  await local.close()
})
