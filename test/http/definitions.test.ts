import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { handler } from '../../sdk/definitions/index.ts'
import {
  ConflictError,
  InvalidInputError,
  OverwinterClient,
  UnknownWorkflowError,
} from '../../sdk/http-client/index.ts'
import { workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { malformedDefinition } from '../definitions/malformed.ts'
import { createApp } from './by-the-document.ts'
import { read } from './fixture.ts'

async function open() {
  const inCode = workflow('in-code', async () => 1)
  const local = await Local.open({
    path: ':memory:',
    workflows: [inCode],
    handlers: [handler('h', ({ config }) => config ?? null)],
    log: () => {},
  })
  const app = createApp({ client: local, log: () => {} })
  const call = async (method: string, path: string, body?: unknown) => {
    const text = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
    return read(await app.request(path, { method, headers: { 'content-type': 'application/json' }, ...text }))
  }
  const client = new OverwinterClient({
    url: 'http://local',
    fetch: (input, init) => Promise.resolve(app.request(input as string, init)),
  })
  const reaches = async (runId: string, status: string) => {
    while ((await local.get(runId)).status !== status) await new Promise((resolve) => setImmediate(resolve))
  }
  return { local, client, call, reaches, [Symbol.asyncDispose]: () => local.close(10) }
}

const says = (word: string) => ({ steps: [{ type: 'task', name: 'say', handler: 'h', config: word }] })
const naps = (ms: number) => ({ steps: [{ type: 'wait', name: 'nap', durationMs: ms }, ...says('awake').steps] })

describe('definitions over HTTP', () => {
  it('are saved in versions, shown, listed among the workflows, and started like any workflow', async () => {
    await using api = await open()
    const first = await api.call('PUT', '/definitions/greet', { name: 'greet', version: '1.0', ...says('one') })
    expect(first).toMatchObject({
      status: 201,
      body: { name: 'greet', version: 1, createdAt: expect.stringMatching(/Z$/), warnings: [] },
    })
    expect(first.headers.get('location')).toBe('/definitions/greet')
    expect(await api.call('PUT', '/definitions/greet', { version: '1.0', ...says('one') })).toMatchObject({
      status: 200,
      body: { version: 1 },
    })
    expect(await api.call('PUT', '/definitions/greet', { version: '2.0', ...says('two') })).toMatchObject({
      status: 201,
      body: { version: 2 },
    })
    expect(await api.call('GET', '/definitions')).toMatchObject({
      status: 200,
      body: { definitions: [{ name: 'greet', version: 2, label: '2.0' }] },
    })
    expect(await api.call('GET', '/definitions/greet')).toMatchObject({
      status: 200,
      body: { version: 2, definition: { name: 'greet', ...says('two') } },
    })
    expect(await api.call('GET', '/definitions/greet?version=1')).toMatchObject({
      status: 200,
      body: { version: 1, definition: says('one') },
    })
    expect((await api.call('GET', '/workflows')).body.workflows).toEqual([
      { name: 'greet', versions: [2], latest: 2 },
      { name: 'in-code', versions: [1], latest: 1 },
    ])
    const said = await api.call('POST', '/workflows/greet/runs?wait=20s', {})
    expect(said).toMatchObject({ status: 201, body: { version: 2, output: { outputs: { say: 'two' } } } })
    const old = await api.call('POST', '/workflows/greet/runs?wait=20s', { version: 1 })
    expect(old.body).toMatchObject({ version: 1, output: { outputs: { say: 'one' } } })
    expect(await api.call('POST', '/workflows/greet/runs', { version: 3 })).toMatchObject({ status: 404 })
  })

  it('may have any name that a path can carry, but not that of the schema or of a workflow in the code', async () => {
    await using api = await open()
    expect(await api.call('PUT', `/definitions/${encodeURIComponent('a/b %é?')}`, says('x'))).toMatchObject({
      status: 201,
      body: { name: 'a/b %é?' },
    })
    expect(await api.call('GET', `/definitions/${encodeURIComponent('a/b %é?')}`)).toMatchObject({ status: 200 })
    expect(await api.call('PUT', '/definitions/schema.json', says('x'))).toMatchObject({
      status: 400,
      body: { problems: [{ path: '$.name' }] },
    })
    expect(await api.call('GET', '/definitions/schema.json')).toMatchObject({
      status: 200,
      body: { type: 'object', required: ['name', 'steps'] },
    })
    expect(await api.call('PUT', '/definitions/in-code', says('x'))).toMatchObject({ status: 409 })
    expect(await api.call('PUT', '/definitions/greet', { name: 'other', ...says('x') })).toMatchObject({
      status: 400,
      body: { problems: [{ path: '$.name' }] },
    })
    expect(await api.call('PUT', `/definitions/${'x'.repeat(101)}`, says('x'))).toMatchObject({
      status: 400,
      body: { problems: [{ path: '$.name' }] },
    })
  })

  it('are only checked with ?check, and warned of waits over 30 days', async () => {
    await using api = await open()
    const body = naps(31 * 86_400_000)
    const warnings = [{ path: '$.steps[0].durationMs', message: 'is longer than 30 days' }]
    expect(await api.call('PUT', '/definitions/greet?check=true', body)).toMatchObject({
      status: 200,
      body: { name: 'greet', warnings },
    })
    expect(await api.call('GET', '/definitions')).toMatchObject({ body: { definitions: [] } })
    expect(await api.call('PUT', '/definitions/greet?check=true', { steps: [] })).toMatchObject({
      status: 400,
      body: { problems: [{ path: '$.steps' }] },
    })
    expect(await api.call('PUT', '/definitions/greet', body)).toMatchObject({ status: 201, body: { warnings } })
  })

  it('are deleted once no run of them is alive', async () => {
    await using api = await open()
    await api.call('PUT', '/definitions/sleepy', naps(3_600_000))
    await api.call('POST', '/workflows/sleepy/runs', { id: 'r' })
    expect(await api.call('DELETE', '/definitions/sleepy')).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining("'r'") },
    })
    await api.call('POST', '/runs/r/terminate', {})
    expect(await api.call('DELETE', '/definitions/sleepy')).toMatchObject({ status: 204, body: undefined })
    await api.call('PUT', '/definitions/other', says('x'))
    for (const method of ['DELETE', 'GET']) {
      expect(await api.call(method, '/definitions/sleepy')).toMatchObject({
        status: 404,
        body: { type: 'urn:overwinter:problem:unknown-definition', known: ['other'] },
      })
    }
    expect(await api.call('POST', '/workflows/sleepy/runs', {})).toMatchObject({ status: 404 })
    expect(await api.call('GET', '/definitions/other?version=0')).toMatchObject({
      status: 400,
      body: { problems: [{ path: '?version' }] },
    })
    const refused = await api.call('POST', '/definitions/other', {})
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'PUT, GET, HEAD, DELETE'])
  })

  it('that are malformed are each a 400 with a path, never a 500 (500 made up)', async () => {
    await using api = await open()
    await fc.assert(
      fc.asyncProperty(malformedDefinition, async (candidate) => {
        const { status, body } = await api.call('PUT', '/definitions/made-up', JSON.stringify(candidate))
        expect(status, JSON.stringify(body)).toBe(400)
        expect(body.problems.length).toBeGreaterThan(0)
        for (const { path, message } of body.problems)
          expect([path, message]).toEqual([expect.stringMatching(/^\$/), expect.any(String)])
      }),
      { numRuns: 500 },
    )
    expect(await api.call('GET', '/definitions')).toMatchObject({ body: { definitions: [] } })
  })

  it('are refused with every problem at once', async () => {
    await using api = await open()
    const steps = [
      ...Array.from({ length: 3 }, (_, i) => ({ type: 'task', name: 'same', handler: `h${i}`, after: ['nobody'] })),
      { type: 'wait', name: 'w' },
    ]
    const { body } = await api.call('PUT', '/definitions/bad', { steps })
    expect(body.problems.map(({ path }: { path: string }) => path)).toEqual([
      '$.steps[1].name',
      '$.steps[2].name',
      ...[0, 1, 2].flatMap((i) => [`$.steps[${i}].after[0]`, `$.steps[${i}].handler`]),
      '$.steps[3]',
    ])
  })

  it('work through the client, errors included', async () => {
    await using api = await open()
    const { client } = api
    expect(await client.putDefinition('greet', says('one'))).toMatchObject({
      name: 'greet',
      version: 1,
      isNew: true,
      createdAt: expect.any(Number),
    })
    expect(await client.putDefinition('greet', says('one'))).toMatchObject({ version: 1, isNew: false })
    expect(await client.checkDefinition('greet', says('two'))).toEqual({ warnings: [] })
    expect(await client.getDefinition('greet', 1)).toMatchObject({ version: 1, definition: says('one') })
    expect(await client.listDefinitions()).toMatchObject([{ name: 'greet', version: 1, updatedAt: expect.any(Number) }])
    await expect(client.putDefinition('greet', { steps: [] })).rejects.toThrow(InvalidInputError)
    await expect(client.putDefinition('in-code', says('x'))).rejects.toThrow(ConflictError)
    await client.deleteDefinition('greet')
    await expect(client.getDefinition('greet')).rejects.toThrow(UnknownWorkflowError)
  })
})

describe('the steps of a run over HTTP', () => {
  it('say which one waits, and until when', async () => {
    await using api = await open()
    await api.call('PUT', '/definitions/sleepy', naps(3_600_000))
    await api.call('POST', '/workflows/sleepy/runs', { id: 'r' })
    await api.reaches('r', 'sleeping')
    const { body } = await api.call('GET', '/runs/r/steps')
    expect(body.steps).toEqual([
      {
        name: 'nap',
        type: 'wait',
        after: [],
        status: 'WAITING',
        startedAt: expect.any(String),
        wakeAt: (await api.call('GET', '/runs/r')).body.wakeAt,
      },
      { name: 'say', type: 'task', after: ['nap'], status: 'PENDING' },
    ])
    expect(await api.client.steps('r')).toMatchObject([{ wakeAt: expect.any(Number) }, {}])
    await api.client.wake('r')
    await api.client.result('r')
    expect((await api.call('GET', '/runs/r/steps')).body.steps).toMatchObject([
      { status: 'COMPLETED' },
      { status: 'COMPLETED' },
    ])
  })

  it('are those of a definition: a run of code has none to list', async () => {
    await using api = await open()
    await api.call('POST', '/workflows/in-code/runs', { id: 'c' })
    expect(await api.call('GET', '/runs/c/steps')).toMatchObject({ status: 409 })
    expect(await api.call('GET', '/runs/nobody/steps')).toMatchObject({ status: 404 })
  })
})
