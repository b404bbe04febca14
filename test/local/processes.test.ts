import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Client, Registry, workflow } from '../../sdk/index.ts'
import { LocalWorld } from '../../sdk/local.ts'
import { PATIENCE_MS } from '../outside/patience.ts'

const script = new URL('./process.ts', import.meta.url).pathname
const order = workflow('order', async () => [])

let folder: string
let path: string
let effects: string
const children: ChildProcess[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'overwinter-processes-'))
  path = join(folder, 'runs.db')
  effects = join(folder, 'effects')
  writeFileSync(effects, '')
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

/** Starts the process; `onLine` hears what it says. */
function launch(prefix: string, count: number, onLine: (line: string, child: ChildProcess) => void): Promise<void> {
  const child = spawn(
    process.execPath,
    ['--conditions=overwinter-source', script, path, effects, prefix, String(count)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  children.push(child)
  createInterface({ input: child.stdout! }).on('line', (line) => onLine(line, child))
  return new Promise((resolve) => child.on('exit', () => resolve()))
}

async function results(runIds: string[]): Promise<unknown[]> {
  const world = new LocalWorld({ path })
  const client = new Client(world, new Registry([order]))
  const all = await Promise.all(runIds.map((runId) => client.result(runId, { timeout: PATIENCE_MS })))
  world.close()
  return all
}

const effectCounts = () => {
  const counts = new Map<string, number>()
  for (const line of readFileSync(effects, 'utf8').split('\n').filter(Boolean)) {
    const key = line.slice(line.indexOf(' ') + 1)
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

describe('processes on one file', () => {
  it('SIGKILL at any moment loses nothing acknowledged, and the next process goes on at once', async () => {
    const acknowledged: string[] = []
    // Killed upon some acknowledgement: in the middle of steps, sleeps and commits of the runs before it.
    for (const [round, killAt] of [3, 17, 40, 41, 64, 90].entries()) {
      let lines = 0
      await launch(`round${round}`, 100, (line, child) => {
        if (line.startsWith('started ')) acknowledged.push(line.slice('started '.length))
        if (++lines === killAt) child.kill('SIGKILL')
      })
    }
    expect(acknowledged.length).toBeGreaterThan(200)
    void launch('last', 0, () => {})
    const outputs = await results(acknowledged)
    const expected = acknowledged.map((id) => Number(id.split('-')[1])).map((n) => [n, n + 1, n + 2])
    expect(outputs).toEqual(expected)
    const counts = effectCounts()
    for (const id of acknowledged)
      for (const step of ['a', 'b', 'c']) expect(counts.get(`${id}/${step}`), `${id}/${step}`).toBeGreaterThanOrEqual(1)
  })

  it('two of them share the work and run nothing twice (I7)', async () => {
    const acknowledged: string[] = []
    let opened = 0
    let allStarted = () => {}
    const started = new Promise<void>((resolve) => (allStarted = resolve))
    const hear = (line: string) => {
      if (line === 'open') opened++
      else acknowledged.push(line.slice('started '.length))
      if (acknowledged.length === 300 && opened === 2) allStarted()
    }
    void launch('left', 150, hear)
    void launch('right', 150, hear)
    await started
    await results(acknowledged)
    const counts = effectCounts()
    expect(counts.size).toBe(900)
    expect([...counts].filter(([, times]) => times !== 1)).toEqual([])
  })

  it('leave no lock behind when they end in order', async () => {
    await launch('tidy', 1, (line, child) => {
      if (line.startsWith('started')) child.kill('SIGTERM')
    })
    const { readdirSync } = await import('node:fs')
    expect(readdirSync(folder).filter((file) => file.endsWith('.lock'))).toEqual([])
    expect(existsSync(path)).toBe(true)
  })
})
