import { workflow } from 'overwinter'

export const childContexts = workflow('child-contexts', async (ctx) =>
  ctx.scope('outer', async (outer) => ({
    step: await outer.step('work', () => 'done in the outer scope'),
    scope: await outer.scope('inner', async (inner) => {
      await inner.sleep('1s')
      return 'done in the inner scope'
    }),
  })),
)
