import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PATIENCE_MS } from '../outside/patience.ts'
import { Collector } from './collector.ts'

const script = new URL('./victim.ts', import.meta.url).pathname

/** A run of 40 days over four processes, of which three are killed: in the middle of a step, asleep, and in the middle of a step again. */
export async function longRun(): Promise<Collector> {
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-traces-'))
  const collector = await Collector.open()
  const live = (days: number, hangsIn: string, isOver: (line: string) => boolean | Promise<boolean>) =>
    untilKilled([join(folder, 'runs.db'), `${collector.url}/v1/traces`, String(days), hangsIn], isOver)
  try {
    await live(0, 'charge', (line) => line === 'in charge')
    // Nobody looks for longer than CloudWatch takes spans.
    await live(20, '', async () => {
      await collector.until((spans) => spans.some(({ name }) => name === 'sleep cool down begins'))
      return true
    })
    await live(31, 'send', (line) => line === 'in send')
    await live(40, '', (line) => line === 'completed')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return collector
}

function untilKilled(args: string[], isOver: (line: string) => boolean | Promise<boolean>): Promise<void> {
  const child = spawn(process.execPath, ['--conditions=overwinter-source', script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    const patience = setTimeout(
      () => child.kill('SIGKILL') && reject(new Error(`nothing came of ${args.join(' ')}`)),
      PATIENCE_MS,
    )
    createInterface({ input: child.stdout }).on('line', async (line) => {
      if (await isOver(line)) child.kill('SIGKILL')
    })
    child.on('exit', () => {
      clearTimeout(patience)
      resolve()
    })
  })
}
