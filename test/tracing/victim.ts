import { workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'

/** A process to be killed, whose clock is so many days ahead. It says on standard output when it is in the middle of a step that it will not end. */
const [path, endpoint, days, hangsIn] = process.argv.slice(2) as [string, string, string, string]
const aheadMs = Number(days) * 86_400_000

const clock = {
  now: () => Date.now() + aheadMs,
  at(time: number, callback: () => void) {
    // A timer takes no more than 24 days; nobody here waits for longer ones.
    const timer = setTimeout(callback, Math.min(Math.max(0, time - clock.now()), 2 ** 31 - 1))
    return () => clearTimeout(timer)
  },
}

const body = (step: string) => async () => {
  if (step !== hangsIn) return 'CANARY'
  console.log(`in ${step}`)
  return new Promise<never>(() => {})
}

const shipping = workflow('shipping', async (ctx, parcel: string) => {
  await ctx.step('label', body('label'))
  return parcel
})

const order = workflow('order', async (ctx, input: string) => {
  await ctx.step('reserve', body('reserve'))
  await ctx.step('charge', body('charge'))
  await ctx.sleep('cool down', '10d')
  await ctx.step('pack', body('pack'))
  await ctx.step('send', body('send'))
  await ctx.run(shipping, input)
  return input
})

const local = await Local.open({ path, clock, workflows: [order, shipping], tracing: { endpoint } })
await local.start(order, 'CANARY', { id: 'order-1' })
console.log('open')
const { status } = await local.settled('order-1')
await local.close()
console.log(status)
