import { describe, expect, it } from 'vitest'
import { testEnv } from '../../sdk/testing/index.ts'
import { kOfN } from './examples/k-of-n.ts'

describe('k of n', () => {
  it('gives the first two in the order in which they ended, and aborts the others', async () => {
    const env = await testEnv({ workflows: [kOfN] })
    const aborted: string[] = []
    const never = (name: string) =>
      env.stub(name, ({ signal }) => {
        signal.addEventListener('abort', () => aborted.push(name))
        return new Promise(() => {})
      })
    never('copy to Oslo')
    never('copy to Kyiv')
    const run = await env.start(kOfN)
    expect(await run.result()).toEqual({ copies: 2, where: ['bern', 'rome'], results: ['in Bern', 'in Rome'] })
    expect(aborted).toEqual(['copy to Oslo', 'copy to Kyiv'])
  })

  it('is decided once: who comes first after a crash changes nothing', async () => {
    const env = await testEnv({ workflows: [kOfN] })
    const ran: string[] = []
    for (const place of ['Oslo', 'Bern', 'Rome', 'Kyiv']) {
      env.stub(`copy to ${place}`, () => {
        ran.push(place)
        return place === 'Oslo' || place === 'Bern' ? new Promise(() => {}) : `in ${place}`
      })
    }
    const run = await env.start(kOfN)
    expect(await run.status()).toBe('sleeping')
    for (const place of ['Oslo', 'Bern']) env.stub(`copy to ${place}`, () => void ran.push(`${place} again`))
    await env.restart()
    expect(await run.result()).toMatchObject({ where: ['rome', 'kyiv'] })
    expect(ran).toEqual(['Oslo', 'Bern', 'Rome', 'Kyiv'])
    expect((await run.history()).filter(({ type }) => type === 'decided')).toMatchObject([
      { id: 'copies', won: ['rome', 'kyiv'] },
    ])
  })
})
