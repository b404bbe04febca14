import { type Context, workflow } from 'overwinter'

const failing = (ctx: Context, name: string) =>
  ctx.step<never>(
    name,
    () => {
      throw new Error(`${name} went wrong`)
    },
    { retry: { attempts: 1 } },
  )

const ignored = (promise: Promise<unknown>) => promise.catch(() => undefined)

/** Promises that have failed long before anybody looks at them. */
export const lateRejections = workflow('late-rejections', async (ctx) => {
  await ignored(Promise.all([failing(ctx, 'at once')]))
  await ctx.sleep('after the first', '1s')

  const second = failing(ctx, 'second')
  const third = failing(ctx, 'third')
  await ignored(Promise.all([second]))
  await ignored(Promise.any([third]))

  const fourth = failing(ctx, 'fourth')
  const fifth = failing(ctx, 'fifth')
  await ignored(Promise.all([fourth]))
  await ctx.sleep('with one open', '1s')
  await ignored(Promise.any([fifth]))

  const sixth = failing(ctx, 'sixth')
  const seventh = failing(ctx, 'seventh')
  await ctx.sleep('with two open', '1s')
  await ignored(Promise.all([sixth]))
  await ignored(Promise.any([seventh]))

  return { result: await ctx.step('good', () => 'fine'), failures: 7 }
})
