import { serveLocal } from '../functions/local/serve.ts'
import { workflow } from '../sdk/index.ts'

/** The service under test, in a process of its own: a local world with fsync, its HTTP API, two workflows. */
let lateness: number[] = []

const steps = workflow('steps', async (ctx, n: number) => {
  let sum = 0
  for (let i = 0; i < n; i++) sum += await ctx.step(`s${i}`, async () => i)
  return sum
})
const sleeper = workflow('sleeper', async (ctx, due: number) => {
  await ctx.step('begin', async () => 1)
  await ctx.sleepUntil('nap', due)
  // Not journaled: how late the code after the sleep is reached, on the machine's own clock.
  const late = Date.now() - due
  await ctx.step('end', async () => {
    lateness.push(late)
    return 1
  })
  return late
})

const path = process.argv[2]!
const server = await serveLocal({ path, workflows: [steps, sleeper], port: 0, log: () => {} })
process.send!({ url: server.url })
process.on('message', (question) => {
  if (question === 'reset') lateness = []
  if (question === 'gc') globalThis.gc?.()
  process.send!({
    lateness: question === 'lateness' ? lateness : [],
    done: lateness.length,
    rssMb: process.memoryUsage().rss / 2 ** 20,
    heapMb: process.memoryUsage().heapUsed / 2 ** 20,
  })
})
process.on('SIGTERM', () => void server.close().then(() => process.exit(0)))
