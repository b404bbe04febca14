import { workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'

/** A process whose runs sleep as long as its arguments say, in milliseconds. It tells of each that is asleep or awake, and when by its own clock. */
const [path, ...naps] = process.argv.slice(2) as [string, ...string[]]
const nap = workflow('nap', async (ctx, ms: number) => {
  await ctx.sleep('nap', ms)
  return Date.now()
})
const local = await Local.open({ path, workflows: [nap], log: () => {} })
for (const ms of naps) {
  await local.start(nap, Number(ms), { id: ms })
  while ((await local.get(ms)).status !== 'sleeping') await new Promise((resolve) => setImmediate(resolve))
  const { wakeAt } = await local.get(ms)
  void local.result<number>(ms).then((wokeAt) => process.send!({ woke: ms, earlyMs: wakeAt! - wokeAt }))
}
process.send!({ asleep: naps })
