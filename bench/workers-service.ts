import { serveLocal } from '../functions/local/serve.ts'
import { workflow } from '../sdk/index.ts'
import { Worker } from '../sdk/worker/index.ts'

/** A process of the workers' benchmark: the service under test (`serve <file>`), or one of its workers (`work <url>`). */

const TOKEN = 'bench'
const [role, argument] = process.argv.slice(2) as ['serve' | 'work', string]

const one = workflow('one', async (ctx) => ctx.task('waited-for', { prompt: 'hello' }))
const many = workflow('many', async (ctx, count: number) => {
  const tasks = Array.from({ length: count }, (_, i) => ctx.task('quick', i, { name: `quick-${i}` }))
  return (await Promise.all(tasks)).length
})

if (role === 'serve') {
  const server = await serveLocal({
    path: argument,
    workflows: [one, many],
    port: 0,
    workerToken: TOKEN,
    log: () => {},
  })
  process.send!({ url: server.url })
} else {
  const worker = new Worker({ url: argument, token: TOKEN, tasks: { quick: ({ input }) => input }, concurrency: 25 })
  process.send!({ id: worker.id })
}
process.on('disconnect', () => process.exit(0))
