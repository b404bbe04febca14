import { type Context, workflow } from 'overwinter'

const failing = (ctx: Context, name: string) =>
  ctx.step<string>(
    name,
    () => {
      throw new Error(`${name} went wrong`)
    },
    { retry: { attempts: 3, initial: '1s', factor: 1 } },
  )

/** Native promises: there is no other kind to learn. */
export const combinators = workflow('combinators', async (ctx) => {
  const all = await Promise.all([
    ctx.step('first', () => 'one'),
    ctx.step('second', () => 'two'),
    ctx.step('third', () => 'three'),
  ])
  const race = await Promise.race([
    ctx.step('slow', () => 'the slow one'),
    ctx.step('fast', () => 'the fast one'),
  ])
  const settled = await Promise.allSettled([
    ctx.step('good', () => 'fine'),
    failing(ctx, 'bad'),
  ])
  const any = await Promise.any([
    failing(ctx, 'worse'),
    failing(ctx, 'worst'),
    ctx.step('better', () => 'at last'),
  ]).catch(() => 'all of them failed')
  return { all, race, settled, any }
})
