import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HistoryEvent } from '../../sdk/index.ts'
import { Project, pause, Running, root } from '../cli/fixture.ts'
import { freePort, untilFree } from '../outside/free-port.ts'
import { LONG_TEST_MS } from '../outside/patience.ts'
import { Clone } from './clone.ts'
import { blockWith, readmeCommands } from './commands.ts'

const CURL = /^ +(curl .*)$/m

describe('README, followed to the letter in a clean clone', () => {
  const { opening, blocks } = readmeCommands(readFileSync(join(root, 'README.md'), 'utf8'))
  const [install, dev] = blockWith(blocks, 'npm ci && npm run dev')[0]!.split(' && ') as [string, string]
  const cleanUp = new DisposableStack()
  let clone: Clone
  let place: { port: number; env: Record<string, string> }

  const type = (command: string) => new Running('bash', ['-c', command], { cwd: clone.folder, env: place.env })
  const startDev = async () => {
    const server = type(dev)
    const [, curl] = await server.says(CURL)
    return { server, curl: curl! }
  }

  beforeAll(async () => {
    clone = cleanUp.use(new Clone(root))
    const data = cleanUp.use(new Project())
    const port = await freePort()
    place = { port, env: { PORT: String(port), OVERWINTER_DATA: data.path('data') } }
    await using installing = type(install)
    expect(await installing.exited, installing.stderr).toBe(0)
  }, LONG_TEST_MS)
  afterAll(() => cleanUp.dispose())

  test('the server answers; the curl it prints starts a run, which outlives a SIGKILL of everything and does nothing twice', async () => {
    const { server, curl } = await startDev()
    await using first = server
    const started = execFileSync('bash', ['-c', curl], { encoding: 'utf8', stdio: 'pipe' })
    const { runId } = JSON.parse(started) as { runId: string }
    const run = `http://localhost:${place.port}/runs/${runId}`
    while ((await get(run)).status !== 'sleeping') await pause(20)
    await first.kill('SIGKILL')
    await expect(fetch(run)).rejects.toThrow()
    await untilFree(place.port)

    await using _second = (await startDev()).server
    const ended = await get(`${run}?wait=60s`)
    expect(ended).toMatchObject({
      runId,
      status: 'completed',
      output: { message: 'Ada closed their eyes and slept for 5 s' },
    })
    expect(Date.parse(ended.endedAt) - Date.parse(ended.startedAt)).toBeGreaterThanOrEqual(5_000)
    const { events } = (await get(`${run}/history`)) as { events: HistoryEvent[] }
    expect(events.map((event) => ('id' in event ? `${event.type} ${event.id}` : event.type))).toEqual([
      'run.started',
      'step.completed fall-asleep',
      'sleep.started sleep',
      'sleep.completed sleep',
      'step.completed wake-up',
      'run.completed',
    ])
    expect((await get(`http://localhost:${place.port}/runs?workflow=nap`)).runs).toHaveLength(1)
  })

  test('what it says to type in another terminal works there', async () => {
    await using _dev = (await startDev()).server
    const [curl, list, ...rest] = blockWith(blocks, 'curl')
    expect(rest).toEqual([])
    const { runId } = JSON.parse(await outputOf(type(curl!.replace('localhost:4400', `localhost:${place.port}`)))) as {
      runId: string
    }
    expect(await outputOf(type(list!))).toMatch(new RegExp(`^${runId} +nap `, 'm'))
  })

  test('its opening command kills a process mid-sleep, shows that nothing is repeated, and ends by itself', async () => {
    const [installAgain, demo] = opening.split(' && ')
    expect(installAgain).toBe(install)
    const said = await outputOf(type(demo!))
    const [first, second] = [...said.matchAll(/process (\d+) is up/g)].map(([, pid]) => pid)
    expect(first).not.toBe(second)
    expect(said).toContain(`process ${first} was killed (SIGKILL), in the middle of the sleep`)
    const done = [...said.matchAll(/^ {2}(\S.*?) +process (\d+)$/gm)].map(([, what, pid]) => [what, pid])
    expect(done.map(([what]) => what)).toEqual([
      'charged 42 €',
      'packed a kettle',
      expect.any(String),
      expect.any(String),
    ])
    expect(done.map(([, pid]) => pid)).toEqual([first, first, second, second])
    expect(said).toMatch(/Everything happened once, and the sleep ended \d.* after it was due/)
  })

  test('none of it changes a file that git knows of, or leaves a new one', () => {
    expect(clone.changes()).toBe('')
  })
})

// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
const get = async (url: string): Promise<any> => (await fetch(url)).json()

async function outputOf(running: Running): Promise<string> {
  await using process = running
  expect(await process.exited, process.stderr).toBe(0)
  return process.stdout
}
