import { limit, type Registry, workflow } from '../../sdk/index.ts'
import { slowCloud } from '../outside/slow-cloud.ts'

/** A limit of one with a holder. The runs `next` and `last` are in its queue. */
export async function oneHolder(name: string) {
  const one = limit(name, { concurrency: 1 })
  let release = () => {}
  const hold = workflow('hold', async (ctx) =>
    ctx.step('hold', () => new Promise<void>((resolve) => (release = resolve)), { limit: one }),
  )
  const quick = workflow('quick', async (ctx) => ctx.step('go', () => 1, { limit: one }))
  const { open, take, wait } = slowCloud([hold, quick])
  const client = open()
  const inside = await client.start(hold)
  const taking = take(client, inside.runId)
  await wait(1_000)
  const inLine = async () => {
    const { runId } = await client.start(quick)
    await take(client, runId)
    return runId
  }
  const [next, last] = [await inLine(), await inLine()]
  return {
    client,
    next,
    last,
    takeNext: (workflows?: Registry) => take(client, next, workflows ? { workflows } : {}),
    /** The holder releases its slot: `next` is granted it, and has not heard of it. */
    leave: async () => {
      release()
      await taking
    },
    /** The status of `last` in ten minutes. */
    statusOfLast: async () => {
      for (let i = 0; i < 10; i++) {
        await wait(60_000)
        await take(client, last)
      }
      return (await client.get(last)).status
    },
  }
}
