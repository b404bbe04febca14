import { describe, expect, it } from 'vitest'
import { FatalError } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { combinators } from './examples/combinators.ts'

describe('combinators', () => {
  it('all, race, allSettled and any give what they give anywhere, and the same at every replay', async () => {
    const env = await testEnv({ workflows: [combinators] })
    const ran: string[] = []
    const slow = Promise.withResolvers<string>()
    for (const name of ['first', 'second', 'third', 'fast']) {
      env.stub(name, () => {
        ran.push(name)
        return name
      })
    }
    env.stub('slow', () => slow.promise)
    const run = await env.start(combinators)
    await env.advance('500ms') // between two attempts of what fails
    slow.resolve('the slow one')
    await env.restart()
    const { settled, ...rest } = await run.result()
    expect(rest).toEqual({ all: ['first', 'second', 'third'], race: 'fast', any: 'at last' })
    expect(settled).toMatchObject([
      { status: 'fulfilled', value: 'fine' },
      {
        status: 'rejected',
        reason: { name: 'StepError', attempts: 3, message: "step 'bad' failed after 3 attempts: bad went wrong" },
      },
    ])
    expect(ran).toEqual(['first', 'second', 'third', 'fast'])
  })

  it('any waits for one that succeeds, also if others have failed for good before it', async () => {
    const env = await testEnv({ workflows: [combinators] })
    env.stub('worse', () => {
      throw new FatalError('no use')
    })
    env.stub('better', ({ attempt }) => {
      if (attempt === 1) throw new Error('not yet')
      return 'better late'
    })
    expect(await (await env.start(combinators)).result()).toMatchObject({ any: 'better late' })
  })

  it('any fails once all have failed', async () => {
    const env = await testEnv({ workflows: [combinators] })
    env.stub('better', () => {
      throw new Error('no better')
    })
    expect(await (await env.start(combinators)).result()).toMatchObject({ any: 'all of them failed' })
  })
})
