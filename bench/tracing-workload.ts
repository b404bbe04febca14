import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { workflow } from '../sdk/index.ts'
import { Local } from '../sdk/local.ts'

/**
 * Runs in a process of their own: `tracing-workload.ts <file | memory> <steps> [<endpoint>]` prints the least CPU that one took, in milliseconds, until its spans were sent.
 */
const [where, steps, endpoint] = process.argv.slice(2) as ['file' | 'memory', string, string?]

const sequence = workflow('sequence', async (ctx, n: number) => {
  let sum = 0
  for (let i = 0; i < n; i++) sum += await ctx.step(`s${i}`, () => 1)
  return sum
})

const folder = mkdtempSync(join(tmpdir(), 'overwinter-bench-'))

async function cpuOf(run: number): Promise<number> {
  const path = where === 'file' ? join(folder, `${run}.db`) : ':memory:'
  const local = await Local.open({
    path,
    workflows: [sequence],
    log: () => {},
    ...(endpoint !== undefined && { tracing: { endpoint } }),
  })
  const before = process.cpuUsage()
  await (await local.start(sequence, Number(steps))).result()
  await local.close()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

// A runner stays: what counts is what it takes once it is warm. Nor is garbage collected by force in between, which throws away what was compiled.
const RUNS = where === 'memory' ? 20 : 8
const measured: number[] = []
for (let run = 0; run < RUNS; run++) measured.push(await cpuOf(run))
rmSync(folder, { recursive: true })
console.log(Math.min(...measured))
