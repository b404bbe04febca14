// Run by bench/flow.ts in a folder that has DBOS's packages: starts many workflows into a queue, and says how many a second.
import { createRequire } from 'node:module'
import { join } from 'node:path'

const { DBOS } = createRequire(join(process.cwd(), 'package.json'))('@dbos-inc/dbos-sdk')
const [runs, limit, callers] = process.argv.slice(2).map(Number)
const work = DBOS.registerWorkflow(
  async () => DBOS.runStep(async () => new Promise((resolve) => setTimeout(resolve, 100)), { name: 'work' }),
  { name: 'work' },
)
DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl: process.env.DBOS_URL ?? 'postgresql://postgres@127.0.0.1:15432/bench_sys',
  logLevel: 'error',
  runAdminServer: false,
})
await DBOS.launch()
await DBOS.registerQueue('bench', { globalConcurrency: limit })
const begun = performance.now()
let next = 0
const caller = async () => {
  while (next++ < runs) await DBOS.startWorkflow(work, { queueName: 'bench' })()
}
await Promise.all(Array.from({ length: callers }, caller))
console.log(JSON.stringify({ startsPerSecond: Math.round((runs / (performance.now() - begun)) * 1000) }))
process.exit(0)
