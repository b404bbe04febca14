import { workflow } from 'overwinter'

/** Two copies of four are enough. */
export const kOfN = workflow('k-of-n', async (ctx) => {
  const first = await ctx.race(
    'copies',
    {
      oslo: (c) => c.step('copy to Oslo', () => 'in Oslo'),
      bern: (c) => c.step('copy to Bern', () => 'in Bern'),
      rome: (c) => c.step('copy to Rome', () => 'in Rome'),
      kyiv: (c) => c.step('copy to Kyiv', () => 'in Kyiv'),
    },
    { need: 2 },
  )
  await ctx.sleep('1s')
  return {
    copies: first.length,
    where: first.map(({ key }) => key),
    results: first.map(({ value }) => value),
  }
})
