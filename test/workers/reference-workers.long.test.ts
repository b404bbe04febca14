import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LocalServer } from '../../functions/local/serve.ts'
import { pause } from '../cli/fixture.ts'
import { serveLocal } from '../http/by-the-document.ts'
import { freePort } from '../outside/free-port.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { type Asked, ask, TOKEN } from './fixture.ts'
import { LANGUAGES } from './processes.ts'

let server: LocalServer
let folder: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'overwinter-workers-'))
  server = await serve()
})
afterEach(async () => {
  await server.close(10)
  rmSync(folder, { recursive: true, force: true })
})

const serve = (port = 0) =>
  serveLocal({ path: join(folder, 'runs.db'), workflows: [ask], port, workerToken: TOKEN, log: () => {} })
const start = async (asked: Asked) => (await server.local.start(ask, asked)).runId
const result = (runId: string) => server.local.result(runId, { timeout: PATIENCE_MS })
const task = async (taskId: string) => server.local.world.tasks.get(taskId)

const later = (at: number | undefined, than: number) => (at !== undefined && at > than ? at : undefined)

async function until<T>(probe: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (;;) {
    const found = await probe()
    if (found) return found
    await pause(10)
  }
}

describe.each(Object.entries(LANGUAGES))('the reference worker in %s', (language, launch) => {
  const work = (env: Record<string, string> = {}) => launch('worker', { URL: server.url, TOKEN, ...env })

  it('does tasks of several types, and is listed with its language, types and load', async () => {
    await using _ = work()
    const file = join(folder, 'go')
    const waiting = await start({ type: 'wait', input: { file } })
    await until(() => existsSync(`${file}.begun`))
    expect(await result(await start({ type: 'echo', input: { héllo: ['wörld', null, 1.5] } }))).toEqual({
      héllo: ['wörld', null, 1.5],
    })
    const listed = async () =>
      ((await (await fetch(`${server.url}/v1/workers`)).json()) as { workers: { load: number }[] }).workers[0]
    expect(await listed()).toMatchObject({
      language,
      transport: 'bridge',
      task_types: ['echo', 'wait', 'large'],
      max_tasks: 12,
    })
    writeFileSync(file, '')
    expect(await result(waiting)).toEqual({ attempt: 1 })
  })

  it('need not connect: its polls list it too, as far as they tell', async () => {
    await using _ = work({ CONNECT: 'no' })
    expect(await result(await start({ type: 'echo', input: 1 }))).toBe(1)
    const { workers } = (await (await fetch(`${server.url}/v1/workers`)).json()) as { workers: object[] }
    expect(workers).toMatchObject([{ language: 'unknown', transport: 'bridge' }])
  })

  it('gives signs of life while it works, so that it keeps its task', async () => {
    await using _ = work()
    const file = join(folder, 'go')
    const runId = await start({ type: 'wait', input: { file }, options: { heartbeatTimeout: '2m' } })
    let deadline = await until(async () => (await task(`${runId}.wait`))?.lookAt)
    for (let signs = 0; signs < 3; signs++)
      deadline = await until(async () => later((await task(`${runId}.wait`))?.lookAt, deadline))
    writeFileSync(file, '')
    expect(await result(runId)).toEqual({ attempt: 1 })
  })

  it('told to stop, finishes what it has in hand and then ends', async () => {
    await using worker = work()
    const file = join(folder, 'go')
    const runId = await start({ type: 'wait', input: { file } })
    await until(() => existsSync(`${file}.begun`))
    worker.child.kill('SIGTERM')
    writeFileSync(file, '')
    expect(await result(runId)).toEqual({ attempt: 1 })
    expect(await worker.exited).toBe(0)
  })

  it('told to stop, gives back what it cannot finish in time, which costs the task no attempt', async () => {
    await using worker = work({ GRACE_S: '0.1' })
    const file = join(folder, 'go')
    const runId = await start({ type: 'wait', input: { file } })
    await until(() => existsSync(`${file}.begun`))
    worker.child.kill('SIGTERM')
    // Unless it is given back, nobody gets it before its deadline, in five minutes.
    await until(async () => (await task(`${runId}.wait`))?.state === 'waiting')
    await using _ = work()
    writeFileSync(file, '')
    expect(await result(runId)).toEqual({ attempt: 1 })
  })

  it('says again what may not have arrived, under the same key, so that it counts once', async () => {
    const keys: string[] = []
    await using proxy = await losingAnswers(new URL(server.url), (path, key) => {
      if (!path.endsWith('/resolve')) return false
      keys.push(key)
      return keys.length === 1
    })
    await using _ = work({ URL: proxy.url, HEARTBEAT_S: '60' })
    const runId = await start({ type: 'echo', input: 'once' })
    expect(await result(runId)).toBe('once')
    await until(() => keys.filter((key) => key === keys[0]).length === 2)
    const types = (await server.local.history(runId)).map(({ type }) => type)
    expect(types.filter((type) => type === 'task.completed')).toHaveLength(1)
  })

  it('gets a task that was in an answer which did not arrive, long before its deadline', async () => {
    const runId = await start({ type: 'echo', input: 'found again' })
    let polls = 0
    // The first poll for each of its types.
    await using proxy = await losingAnswers(new URL(server.url), (path) => path.endsWith('/poll') && ++polls <= 3)
    await using _ = work({ URL: proxy.url })
    expect(await result(runId)).toBe('found again')
    expect(await task(`${runId}.echo`)).toMatchObject({ attempt: 1 })
  })

  it('gives up a task whose output the server will not have, and says why', async () => {
    await using _ = work()
    await expect(result(await start({ type: 'large' }))).rejects.toThrow(/after 1 attempt.*413.*1048576 are the most/s)
  })

  it('ends with an error when its token is not good', async () => {
    await using worker = work({ TOKEN: 'wrong' })
    expect(await worker.exited).not.toBe(0)
    expect(worker.stderr).toContain('401')
  })

  it('outlasts a server that is away for a while', async () => {
    const port = await freePort()
    await using worker = work({ URL: `http://127.0.0.1:${port}` })
    await worker.says(/trying again/)
    await server.close(10)
    server = await serve(port)
    expect(await result(await start({ type: 'echo', input: 'back' }))).toBe('back')
  })
})

/** Passes requests on; of those that `isLost` picks, the answer never arrives. */
async function losingAnswers(
  target: URL,
  isLost: (path: string, key: string) => boolean,
): Promise<{ url: string } & AsyncDisposable> {
  const proxy = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming
    const loses = isLost(url!, String(headers['idempotency-key']))
    const passed = request(
      { host: target.hostname, port: target.port, method, path: url, headers: { ...headers, host: target.host } },
      (answer) => {
        if (loses) return answer.resume().on('end', () => outgoing.destroy())
        outgoing.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(outgoing)
      },
    )
    incoming.pipe(passed)
    outgoing.on('close', () => passed.destroy())
    passed.on('error', () => outgoing.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}
