import { describe, expect, expectTypeOf, it } from 'vitest'
import { dag, define, findProblems, handler } from '../../sdk/definitions/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const known = { handlers: new Set(['h']), workflows: new Set<string>() }

describe('a task for a worker', () => {
  const answer = define(
    {
      name: 'answer',
      steps: [
        { type: 'task', name: 'ask', handler: 'ask' },
        {
          type: 'task',
          name: 'think',
          worker: 'llm',
          config: { prompt: '{{ steps.ask }}' },
          maxIterations: 3,
          retry: { attempts: 2, initialMs: 1 },
          timeoutMs: 60_000,
        },
      ],
    },
    { handlers: [handler('ask', () => 'why?')] },
  )

  it('is done outside, with its config filled in, and its output is that of the step', async () => {
    const env = await testEnv({ workflows: [answer] })
    const run = await env.start(answer, undefined)
    expect(await run.get()).toMatchObject({ status: 'waiting', waitingFor: [{ kind: 'task', id: 'think', on: 'llm' }] })
    env.worker('llm', ({ input }) => `because of '${input.prompt}'`)
    expect(await run.result()).toMatchObject({ outputs: { think: "because of 'why?'" } })
  })

  it('gets the input of the run where it has no config', async () => {
    const plain = define({ name: 'plain', steps: [{ type: 'task', name: 'think', worker: 'llm' }] })
    const env = await testEnv({ workflows: [plain] })
    env.worker('llm', ({ input }) => input)
    expect(await (await env.start(plain, { a: 1 })).result()).toMatchObject({ outputs: { think: { a: 1 } } })
  })

  it('is tried, timed and counted as the definition says', async () => {
    const env = await testEnv({ workflows: [answer] })
    env.worker('llm', (task) => task.goOn())
    await expect((await env.start(answer, undefined)).result()).rejects.toThrow('more than its 3 iterations')
    const failing = await testEnv({ workflows: [answer] })
    failing.worker('llm', () => Promise.reject(new Error('no')))
    await expect((await failing.start(answer, undefined)).result()).rejects.toThrow('failed after 2 attempts')
  })

  it('of a saved definition is shown as waiting until a worker has completed it', async () => {
    const env = await testEnv({ workflows: [] })
    await env.definitions.save('saved', { steps: [{ type: 'task', name: 'think', worker: 'llm' }] })
    const { runId } = await env.client.start('saved', 'x')
    await env.settle()
    expect(await env.client.steps(runId)).toMatchObject([{ name: 'think', status: 'WAITING' }])
    env.worker('llm', () => 'done')
    await env.handle(runId).result()
    expect(await env.client.steps(runId)).toMatchObject([{ name: 'think', status: 'COMPLETED' }])
  })

  it('is refused beside a handler or a lambda, and what only workers have is refused without one', () => {
    const problems = (step: object) => findProblems({ name: 'w', steps: [{ type: 'task', name: 's', ...step }] }, known)
    const oneOf = [{ path: '$.steps[0]', message: "give one of 'handler', 'lambda' and 'worker'" }]
    expect(problems({ worker: 'llm' })).toEqual([])
    expect(problems({ worker: 'llm', handler: 'h' })).toEqual(oneOf)
    expect(problems({ worker: 'llm', lambda: 'l' })).toEqual(oneOf)
    expect(problems({})).toEqual(oneOf)
    expect(problems({ handler: 'h', heartbeatTimeoutMs: 1_000, maxIterations: 2 })).toEqual([
      { path: '$.steps[0].heartbeatTimeoutMs', message: "goes with 'worker' only" },
      { path: '$.steps[0].maxIterations', message: "goes with 'worker' only" },
    ])
    expect(problems({ worker: '' }).map(({ path }) => path)).toEqual(['$.steps[0].worker'])
  })

  it('can be built, with the type of what it gives', async () => {
    const built = dag<{ topic: string }>('built')
      .worker<{ text: string }>('write', 'llm', {
        config: { about: '{{ input.topic }}' },
        timeout: '1m',
        heartbeatTimeout: '10s',
        maxIterations: 5,
      })
      .build()
    expect(built.definition.steps).toEqual([
      {
        type: 'task',
        name: 'write',
        worker: 'llm',
        after: [],
        config: { about: '{{ input.topic }}' },
        timeoutMs: 60_000,
        heartbeatTimeoutMs: 10_000,
        maxIterations: 5,
      },
    ])
    const env = await testEnv({ workflows: [built] })
    env.worker('llm', ({ input }) => ({ text: `on ${input.about}` }))
    expect(await (await env.start(built, { topic: 'ice' })).result()).toMatchObject({
      outputs: { write: { text: 'on ice' } },
    })
    const inferred = dag('inferred')
      .worker('a', 'llm')
      .task('b', ({ parents }) => parents.a, { after: 'a' })
    expectTypeOf(inferred.worker('c', 'llm', { after: ['a', 'b'] })).not.toBeAny()
  })
})
