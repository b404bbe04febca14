import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LocalServer } from '../../functions/local/serve.ts'
import { workflow } from '../../sdk/index.ts'
import { Worker } from '../../sdk/worker/index.ts'
import { serveLocal } from '../http/by-the-document.ts'
import { type Output, overwinter, Project, pause, startDev } from './fixture.ts'

const ask = workflow('ask', async (ctx) => ctx.task('llm', 'hello'))

describe('workers and tokens', () => {
  let server: LocalServer
  beforeAll(async () => {
    server = await serveLocal({ path: ':memory:', workflows: [ask], port: 0, log: () => {} })
  })
  afterAll(() => server.close(10))
  const cli = (...args: string[]): Promise<Output> => overwinter([...args, '--url', server.url])
  const json = async (...args: string[]) => JSON.parse((await cli(...args, '--json')).stdout)
  const isLetIn = async (token: string, type: string) => {
    const body = JSON.stringify({ task_types: [type], max_tasks: 1, timeout_ms: 0 })
    return (
      await fetch(`${server.url}/v1/tasks/poll`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body,
      })
    ).status
  }

  test('the help names the commands about them', async () => {
    const { stdout } = await overwinter(['--help'])
    for (const name of ['workers', 'tokens', 'conformance'])
      expect(stdout).toMatch(new RegExp(`^ {2}${name} .* [a-z]`, 'm'))
  })

  test('a token is made for some types and some time, listed without itself, and revoked', async () => {
    expect((await cli('tokens', 'list')).stdout).toBe('no tokens\n')
    const made = await cli('tokens', 'create', 'gpu farm', '--types', 'llm, image', '--expires', '90d')
    expect(made).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^owt_\S+\n\nThis is the only time it is shown\. To revoke it: overwinter tokens revoke \S+\n$/,
      ),
    })
    const token = made.stdout.split('\n')[0]!
    expect([await isLetIn(token, 'image'), await isLetIn(token, 'mail')]).toEqual([200, 403])

    const list = await cli('tokens', 'list')
    expect(list.stdout).toMatch(
      /^TOKEN +NAME +SCOPE +FOR +STATE +CREATED +EXPIRES\n\S+ +gpu farm +work +llm, image +valid +\d\d:\d\d:\d\d \S+ +\d{4}-\d\d-\d\d \S+ \S+\n$/,
    )
    expect(list.stdout).not.toContain(token.split('_')[2]!)
    const { tokens } = await json('tokens', 'list')
    expect(tokens).toEqual([
      {
        id: expect.any(String),
        name: 'gpu farm',
        scopes: ['work'],
        task_types: ['llm', 'image'],
        state: 'valid',
        created_at: expect.any(String),
        expires_at: expect.any(String),
      },
    ])

    expect(await cli('tokens', 'revoke', tokens[0].id)).toMatchObject({
      code: 0,
      stdout: `${tokens[0].id} opens nothing any more\n`,
    })
    expect(await isLetIn(token, 'image')).toBe(401)
    expect((await json('tokens', 'list')).tokens).toMatchObject([{ state: 'revoked' }])
    expect(await cli('tokens', 'revoke', 'x')).toMatchObject({
      code: 1,
      stderr: `no token 'x'; known: ${tokens[0].id}\n`,
    })
    expect(await cli('tokens', 'create', 'y', '--expires', 'soon')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("'soon' is not a duration"),
    })
  })

  test('a token is made for a part of the API', async () => {
    const made = await json('tokens', 'create', '--scope', 'start,read', '--workflow', 'ask', '--expires', '30d')
    expect(made).toMatchObject({
      name: 'start,read ask',
      scopes: ['start', 'read'],
      workflows: ['ask'],
      token: expect.stringMatching(/^owt_/),
    })
    expect((await cli('tokens', 'list')).stdout).toMatch(/start,read ask +start, read +ask +valid/)
    expect(await cli('tokens', 'create', '--scope', 'everything')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("'everything' is no scope; known: start"),
    })
    await cli('tokens', 'revoke', made.id)
  })

  test('workers are listed with what they are and what they have in hand', async () => {
    expect((await cli('workers')).stdout).toBe('no workers\n')
    const { token } = await json('tokens', 'create', 'worker')
    const never = () => new Promise(() => {})
    const worker = new Worker({
      url: server.url,
      token,
      id: 'w-1',
      tasks: { llm: never, mail: never },
      concurrency: 2,
      metadata: { version: '7' },
    })
    try {
      await server.local.start(ask, undefined)
      while ((await json('workers')).workers[0]?.load !== 1) await pause(20)
      const { stdout } = await cli('workers')
      expect(stdout).toMatch(
        /^WORKER +LANGUAGE +TRANSPORT +TYPES +LOAD +LAST SEEN\nw-1 +typescript +bridge +llm, mail +1\/4 +\S+ m?s ago\n$/,
      )
      const about = {
        worker_id: 'w-1',
        language: 'typescript',
        transport: 'bridge',
        task_types: ['llm', 'mail'],
        load: 1,
        max_tasks: 4,
      }
      expect((await json('workers')).workers).toEqual([
        { ...about, metadata: { version: '7' }, last_seen: expect.any(String) },
      ])
    } finally {
      await worker.stop(1)
    }
  })
})

describe('overwinter dev', () => {
  const FLOWS = `import { workflow } from 'overwinter'\nexport const ask = workflow('ask', async (ctx) => ctx.task('llm', 'hello'))\n`
  const poll = async (url: string, token: string) => {
    const body = JSON.stringify({ task_types: ['llm'], max_tasks: 1, timeout_ms: 0 })
    return (
      await fetch(`${url}/v1/tasks/poll`, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body })
    ).status
  }
  const SAID = /on (http:\/\/localhost:\d+)[\s\S]*Look at it/

  test('makes a token at its first start, says it once, and keeps only its hash', async () => {
    using project = new Project({ 'workflows/index.ts': FLOWS })
    const start = () => startDev([], { cwd: project.folder, env: { PORT: '0' } })
    const first = start()
    const [, token] = await first.says(/^ +(owt_\S+)$/m)
    await first.says(/OVERWINTER_WORKER_TOKEN=… .*tokens create <name>/)
    const [, url] = await first.says(SAID)
    expect(await poll(url!, token!)).toBe(200)
    await first.kill('SIGINT')

    await using second = start()
    const [, again] = await second.says(SAID)
    expect(await poll(again!, token!)).toBe(200)
    expect(second.stdout).not.toContain('owt_')
    for (const file of readdirSync(project.path('.overwinter'))) {
      expect(readFileSync(project.path(`.overwinter/${file}`), 'latin1')).not.toContain(token!.split('_')[2]!)
    }
  })

  test('takes the token of the environment instead, and makes none then', async () => {
    using project = new Project({ 'workflows/index.ts': FLOWS })
    await using dev = startDev([], { cwd: project.folder, env: { PORT: '0', OVERWINTER_WORKER_TOKEN: 'ours' } })
    const [, url] = await dev.says(SAID)
    expect([await poll(url!, 'ours'), await poll(url!, 'theirs')]).toEqual([200, 401])
    expect(await (await fetch(`${url}/v1/tokens`)).json()).toEqual({ tokens: [] })
    expect(dev.stdout).not.toContain('owt_')
  })
})
