import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { testEnv } from '../sdk/testing/index.ts'
import type { AnyWorkflow, workflow } from '../sdk/workflow.ts'
import { report } from './report.ts'

/** Until both are compiled. */
const WARM_UP = 12
const PAIRS = 100
const PROCESSES = 3

/**
 * What changed since: `AGAINST=<commit> npm run bench -- against`. Both engines are in one process and take turns, since a machine that is slow at the moment is so for
 * both; the median of the pairs tells them apart by one or two in a hundred, where separate processes differ by ten from one to the next.
 */
export function benchAgainst(): void {
  const commit = process.env.AGAINST ?? 'HEAD'
  const here = resolve(import.meta.dirname, '..')
  const there = mkdtempSync(join(tmpdir(), 'overwinter-against-'))
  execFileSync('git', ['worktree', 'add', '--detach', '--quiet', there, commit], { cwd: here })
  try {
    symlinkSync(join(here, 'node_modules'), join(there, 'node_modules'))
    for (const [name, n] of [
      ['steps', 10_000],
      ['naps', 200],
    ] as const) {
      const script = new URL(import.meta.url).pathname
      const once = () =>
        Number(
          execFileSync(process.execPath, ['--conditions=overwinter-source', script, there, here, name, String(n)], {
            encoding: 'utf8',
          }),
        )
      const times = median(Array.from({ length: PROCESSES }, once))
      report('against', `${n} ${name}, CPU here ÷ at ${commit}`, { times: Number(times.toFixed(3)) }, { times: 1.02 })
    }
  } finally {
    execFileSync('git', ['worktree', 'remove', '--force', there], { cwd: here })
    rmSync(there, { recursive: true, force: true })
  }
}

type Work = () => Promise<number>

/** A workflow of the engine in that folder. Says the CPU that one run takes, in microseconds. */
async function workOf(root: string, name: string, n: number): Promise<Work> {
  const sdk = (await import(join(root, 'sdk/index.ts'))) as { workflow: typeof workflow }
  const testing = (await import(join(root, 'sdk/testing/index.ts'))) as { testEnv: typeof testEnv }
  const one: AnyWorkflow = sdk.workflow(name, async (ctx) => {
    for (let i = 0; i < n; i++) {
      await ctx.step(`s${i}`, () => 1)
      if (name === 'naps') await ctx.sleep(`w${i}`, '1h')
    }
  })
  return async () => {
    const env = await testing.testEnv({ workflows: [one], tracesCalls: false })
    const before = process.cpuUsage()
    await (await env.start(one, undefined)).result()
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
}

async function compare(there: Work, here: Work): Promise<number> {
  const ratios: number[] = []
  for (let pair = 0; pair < WARM_UP + PAIRS; pair++) {
    const isHereFirst = pair % 2 === 0
    const first = await (isHereFirst ? here : there)()
    const second = await (isHereFirst ? there : here)()
    if (pair >= WARM_UP) ratios.push(isHereFirst ? first / second : second / first)
  }
  return median(ratios)
}

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const [there, here, name, n] = process.argv.slice(2) as [string, string, string, string]
  console.log(await compare(await workOf(there, name, Number(n)), await workOf(here, name, Number(n))))
}
