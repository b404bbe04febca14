import { describe, expect, it } from 'vitest'
import type { Json } from '../../sdk/base/json.ts'
import { Catalogue, handler } from '../../sdk/definitions/index.ts'
import { StoredWorkflows } from '../../sdk/definitions/stored-workflows.ts'
import { ConflictError, InvalidInputError, Registry, UnknownWorkflowError, workflow } from '../../sdk/index.ts'
import type { DocumentStore } from '../../sdk/ports/documents.ts'
import type { TaskStore } from '../../sdk/ports/tasks.ts'
import type { World } from '../../sdk/ports/world.ts'
import { testEnv, VirtualClock } from '../../sdk/testing/index.ts'

const say = handler('say', ({ config }) => config)
const says = (word: string, waitMs?: number) => ({
  steps: [
    ...(waitMs === undefined ? [] : [{ type: 'wait', name: 'nap', durationMs: waitMs }]),
    { type: 'task', name: 'say', handler: 'say', config: word },
  ],
})
const HOUR = 3_600_000

async function open() {
  return testEnv({ workflows: [], handlers: [say] })
}

describe('a stored definition', () => {
  it('is started by its name like any workflow', async () => {
    const env = await open()
    expect(await env.definitions.save('greet', { version: '2.4', ...says('hello') })).toMatchObject({
      name: 'greet',
      version: 1,
      isNew: true,
    })
    const { runId } = await env.client.start('greet', undefined)
    expect(await env.handle(runId).result()).toMatchObject({ outputs: { say: 'hello' } })
    expect(await env.client.get(runId)).toMatchObject({ workflow: 'greet', version: 1 })
    expect(await env.definitions.list()).toEqual([
      {
        name: 'greet',
        version: 1,
        label: '2.4',
        createdAt: expect.any(Number) as number,
        updatedAt: expect.any(Number) as number,
      },
    ])
  })

  it('is refused when it is saved if it hands out tasks that cannot be sent', async () => {
    const env = await open()
    const refusal = (type: string) => (type === 'gpu' ? undefined : `there is no queue for tasks of type '${type}'`)
    const catalogue = new Catalogue(
      { ...env.client.world, store: env.store, documents: env.documents, tasks: { refusal } as TaskStore },
      new Registry([]),
    )
    const draws = (worker: string) => ({ steps: [{ type: 'task', name: 'draw', worker }] })
    await expect(catalogue.save('draw', draws('cpu'))).rejects.toMatchObject({
      problems: [{ path: '$.steps[0].worker', message: "there is no queue for tasks of type 'cpu'" }],
    })
    expect(await catalogue.save('draw', draws('gpu'))).toMatchObject({ version: 1 })
  })

  it('gets a version per content, and every version is kept', async () => {
    const env = await open()
    await env.definitions.save('greet', says('one'))
    await env.advance('1h')
    expect(await env.definitions.save('greet', { name: 'greet', ...says('one') })).toMatchObject({
      version: 1,
      isNew: false,
    })
    expect(await env.definitions.save('greet', says('two'))).toMatchObject({ version: 2, isNew: true })
    expect(await env.definitions.save('greet', says('one'))).toMatchObject({ version: 3, isNew: true })
    expect(await env.definitions.get('greet', 1)).toMatchObject({
      version: 1,
      definition: { name: 'greet', ...says('one') },
    })
    expect(await env.definitions.get('greet', 2)).toMatchObject({ definition: says('two') })
    expect(await env.definitions.get('greet')).toMatchObject({ version: 3 })
    await expect(env.definitions.get('greet', 4)).rejects.toThrow(UnknownWorkflowError)
    const [summary] = await env.definitions.list()
    expect(summary!.updatedAt - summary!.createdAt).toBe(HOUR)
  })

  it('loses none of many that are saved at once', async () => {
    const env = await open()
    const saved = await Promise.all(
      Array.from({ length: 20 }, (_, n) => env.definitions.save('greet', says(`word ${n}`))),
    )
    expect(saved.map(({ version }) => version).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, n) => n + 1),
    )
    for (const [n, { version }] of saved.entries())
      expect(await env.definitions.get('greet', version)).toMatchObject({ definition: says(`word ${n}`) })
    expect(await env.definitions.get('greet')).toMatchObject({ version: 20 })
  })

  it('keeps a run on its version while newer ones are saved, also after a restart', async () => {
    const env = await open()
    await env.definitions.save('greet', says('old', HOUR))
    const before = await env.client.start('greet', undefined)
    expect(await env.handle(before.runId).status()).toBe('sleeping')
    await env.definitions.save('greet', says('new', HOUR))
    const after = await env.client.start('greet', undefined)
    await env.restart()
    expect(await env.handle(before.runId).result()).toMatchObject({ outputs: { say: 'old' } })
    expect(await env.handle(after.runId).result()).toMatchObject({ outputs: { say: 'new' } })
  })

  it('is refused with every problem and its path', async () => {
    const env = await testEnv({ workflows: [workflow('in-code', async () => 1)], handlers: [say] })
    const refused = await env.definitions
      .save('greet', {
        name: 'other',
        steps: [
          { type: 'task', name: 'a', handler: 'x' },
          { type: 'wait', name: 'a' },
        ],
      })
      .catch((e) => e)
    expect(refused).toBeInstanceOf(InvalidInputError)
    expect(refused.problems.map(({ path }: { path: string }) => path)).toEqual([
      '$.name',
      '$.steps[1].name',
      '$.steps[0].handler',
      '$.steps[1]',
    ])
    await expect(env.definitions.save('schema.json', says('x'))).rejects.toThrow('JSON Schema')
    await expect(env.definitions.save('in-code', says('x'))).rejects.toThrow(ConflictError)
    expect(await env.definitions.list()).toEqual([])
  })

  it('waits for its handlers: a run whose code went missing is parked, and goes on once the code is back', async () => {
    const env = await open()
    await env.definitions.save('greet', says('hello', HOUR))
    const { runId } = await env.client.start('greet', undefined)
    const elsewhere = await testEnv({ workflows: [] })
    await expect(elsewhere.definitions.save('greet', says('hello'))).rejects.toThrow("no handler 'say'")
    await env.restart([], [])
    await env.advance('2h')
    expect(await env.client.get(runId)).toMatchObject({
      status: 'stuck',
      error: { message: expect.stringContaining('not in this code: say') },
    })
    await expect(env.client.start('greet', undefined)).rejects.toThrow(UnknownWorkflowError)
    await env.restart([], [say])
    expect(await env.handle(runId).result()).toMatchObject({ outputs: { say: 'hello' } })
  })
})

describe('a workflow in the code', () => {
  it('is found at once, and asks nothing of the store', () => {
    const code = workflow('code', async () => 1)
    const nobody = new Proxy(
      {},
      { get: (_target, property) => expect.unreachable(`documents.${String(property)} was called`) },
    ) as DocumentStore
    const world = { documents: nobody, clock: new VirtualClock(0) } as unknown as World
    const source = new StoredWorkflows(world, new Registry([code]))
    expect(source.exact('code', 1)).toBe(code)
    expect(source.toStart('code')).toBe(code)
    expect(source.confirm(code)).toBeUndefined()
  })
})

describe('a stored definition with children', () => {
  const parent = {
    steps: [
      { type: 'wait', name: 'first', durationMs: HOUR },
      { type: 'workflow', name: 'call', workflow: 'child' },
    ],
  }

  it('runs those in the code, and other definitions in the version that is the latest when they start', async () => {
    const env = await testEnv({
      workflows: [workflow('in-code', async (_ctx, input: number) => input * 2)],
      handlers: [say],
    })
    await env.definitions.save('child', says('one'))
    await env.definitions.save('parent', parent)
    await env.definitions.save('doubles', { steps: [{ type: 'workflow', name: 'call', workflow: 'in-code' }] })
    const doubled = await env.client.start('doubles', 21)
    expect(await env.handle(doubled.runId).result()).toMatchObject({ outputs: { call: 42 } })
    const { runId } = await env.client.start('parent', undefined)
    expect(await env.handle(runId).status()).toBe('sleeping')
    await env.definitions.save('child', says('two', HOUR))
    await env.advance('1h')
    expect(await env.handle(runId).status()).toBe('waiting')
    await env.definitions.save('child', says('three'))
    await env.restart()
    expect(await env.handle(runId).result()).toMatchObject({ outputs: { call: { outputs: { say: 'two' } } } })
    const started = (await env.client.history(runId)).find(({ type }) => type === 'child.started')
    expect(started).toMatchObject({ workflow: 'child', version: 2 })
  })

  it('fails the step of a child that was deleted before, and replays one that was deleted afterwards', async () => {
    const env = await open()
    await env.definitions.save('child', says('one'))
    await env.definitions.save('parent', { steps: [...parent.steps, { type: 'wait', name: 'last', durationMs: HOUR }] })
    const early = await env.client.start('parent', undefined, { id: 'early' })
    await env.advance('90m')
    expect((await env.client.get(early.runId)).waitingFor).toMatchObject([{ id: 'last' }])
    const late = await env.client.start('parent', undefined, { id: 'late' })
    await env.definitions.delete('child')
    expect(await env.handle(early.runId).result()).toMatchObject({ outputs: { call: { outputs: { say: 'one' } } } })
    await expect(env.handle(late.runId).result()).rejects.toThrow("step 'call' failed")
    expect((await env.client.get('late')).error?.cause?.cause?.message).toContain("there is no workflow 'child'")
  })
})

describe('deleting a definition', () => {
  it('is refused while runs of it are alive, naming some, and changes nothing', async () => {
    const env = await open()
    await env.definitions.save('greet', says('hello', HOUR))
    await env.client.start('greet', undefined, { id: 'sleeps' })
    await env.settle()
    await expect(env.definitions.delete('greet')).rejects.toThrow("alive: 'sleeps' (sleeping); end them")
    const { runId } = await env.client.start('greet', undefined)
    await env.handle(runId).result()
    await env.definitions.delete('greet')
    await expect(env.definitions.delete('greet')).rejects.toThrow("no definition is named 'greet'")
    await expect(env.definitions.get('greet', 1)).rejects.toThrow(UnknownWorkflowError)
    await expect(env.client.start('greet', undefined)).rejects.toThrow(UnknownWorkflowError)
    expect(await env.definitions.list()).toEqual([])
  })

  it('frees the name and not the numbers: an old run that is retried finds its version', async () => {
    let isBroken = true
    const flaky = handler('flaky', () => {
      if (isBroken) throw new Error('broken')
      return 'mended'
    })
    const env = await testEnv({ workflows: [], handlers: [flaky, say] })
    await env.definitions.save('w', { steps: [{ type: 'task', name: 'a', handler: 'flaky', retry: { attempts: 1 } }] })
    const { runId } = await env.client.start('w', undefined)
    await expect(env.handle(runId).result()).rejects.toThrow('broken')
    await env.definitions.delete('w')
    expect(await env.definitions.save('w', says('other'))).toMatchObject({ version: 2, isNew: true })
    isBroken = false
    await env.restart()
    await env.client.retry(runId)
    expect(await env.handle(runId).result()).toMatchObject({ outputs: { a: 'mended' } })
  })

  it('keeps the count for good, and what was deleted for as long as a run could wait', async () => {
    const env = await open()
    await env.definitions.save('greet', says('one'))
    await env.definitions.delete('greet')
    await env.advance('365d')
    expect(await env.documents.list('definition greet')).toHaveLength(1)
    await env.advance('36d')
    expect(await env.documents.list('definition greet')).toEqual([])
    expect(await env.definitions.save('greet', says('one'))).toMatchObject({ version: 2, isNew: true })
  })

  /** Holds the next call of one method of the documents until it is let go, and says when it has come. */
  function hold(target: object, method: string, isIt: (...args: Json[]) => boolean) {
    const real = Reflect.get(target, method) as (...args: unknown[]) => Promise<unknown>
    const gate = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    Reflect.set(target, method, async (...args: Json[]) => {
      if (!isIt(...args)) return real.apply(target, args)
      Reflect.set(target, method, real)
      reached.resolve()
      await gate.promise
      return real.apply(target, args)
    })
    return { reached: reached.promise, letGo: gate.resolve }
  }

  it('sees a run that was created after its first look, and takes the mark back', async () => {
    const env = await open()
    await env.definitions.save('greet', says('hello', HOUR))
    const marking = hold(
      env.documents,
      'put',
      (_collection, _key, value) => (value as { isDeleted?: boolean }).isDeleted === true,
    )
    const deleting = env.definitions.delete('greet').catch((error: unknown) => error)
    await marking.reached
    await env.client.start('greet', undefined, { id: 'quick' })
    marking.letGo()
    expect(await deleting).toMatchObject({ name: 'ConflictError', message: expect.stringContaining("'quick'") })
    expect(await env.definitions.list()).toMatchObject([{ name: 'greet', version: 1 }])
    expect(await env.handle('quick').result()).toMatchObject({ outputs: { say: 'hello' } })
  })

  it('stops a start that had looked before the mark and created its run after the second look', async () => {
    const env = await open()
    await env.definitions.save('greet', says('hello', HOUR))
    const creating = hold(env.store, 'create', () => true)
    const starting = env.client.start('greet', undefined, { id: 'slow' }).catch((error: unknown) => error)
    await creating.reached
    await env.definitions.delete('greet')
    creating.letGo()
    expect(await starting).toMatchObject({ name: 'ConflictError', message: expect.stringContaining('was deleted') })
    expect(await env.client.get('slow')).toMatchObject({ status: 'terminated' })
  })

  it('gives way to a definition that is saved meanwhile', async () => {
    const env = await open()
    await env.definitions.save('greet', says('one'))
    const marking = hold(
      env.documents,
      'put',
      (_collection, _key, value) => (value as { isDeleted?: boolean }).isDeleted === true,
    )
    const deleting = env.definitions.delete('greet').catch((error: unknown) => error)
    await marking.reached
    await env.definitions.save('greet', says('two'))
    marking.letGo()
    expect(await deleting).toMatchObject({ name: 'ConflictError' })
    expect(await env.definitions.get('greet')).toMatchObject({ version: 2 })
  })
})
