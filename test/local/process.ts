import { appendFileSync } from 'node:fs'
import { workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'

/** A process to be killed: opens a world, starts runs if told to, and says on standard output what was acknowledged. */
const [path, effectsFile, prefix, count] = process.argv.slice(2) as [string, string, string, string]
const effect = (key: string) => appendFileSync(effectsFile, `${process.pid} ${key}\n`)

const order = workflow('order', async (ctx, n: number) => {
  const a = await ctx.step('a', ({ idempotencyKey }) => {
    effect(idempotencyKey)
    return n
  })
  await ctx.sleep('nap', 5)
  const [b, c] = await Promise.all([
    ctx.step('b', async ({ idempotencyKey }) => {
      effect(idempotencyKey)
      await new Promise((resolve) => setImmediate(resolve))
      return a + 1
    }),
    ctx.step('c', ({ idempotencyKey }) => {
      effect(idempotencyKey)
      return a + 2
    }),
  ])
  await ctx.sleep('another', 30)
  return [a, b, c]
})

const local = await Local.open({ path, workflows: [order] })
process.on('SIGTERM', () => void local.close().then(() => process.exit(0)))
console.log('open')
for (let n = 0; n < Number(count); n++) {
  const { runId } = await local.start(order, n, { id: `${prefix}-${n}` })
  console.log(`started ${runId}`)
}
