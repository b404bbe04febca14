import { beforeAll, describe, expect, it } from 'vitest'
import { fanOut, flaky, nap, order, parent } from '../../workflows/index.ts'
import { approved } from '../../workflows/order.ts'
import { type Deployment, deployed, eventually } from './deployment.ts'

const PATIENCE = { timeout: '60s' }

describe('deployed by cdk and called over HTTP, the examples', () => {
  let client: Deployment['client']
  let url: string
  beforeAll(async () => {
    ;({ client, url } = await deployed())
  })

  it('nap', async () => {
    const { runId } = await client.start(nap, { name: 'Ada', seconds: 2 })
    expect(await client.result(runId, PATIENCE)).toEqual({ message: 'Ada closed their eyes and slept for 2 s' })
    expect((await client.history(runId)).map(({ type }) => type)).toEqual([
      'run.started',
      'step.completed',
      'sleep.started',
      'sleep.completed',
      'step.completed',
      'run.completed',
    ])
  })

  it('order, approved', async () => {
    const { runId } = await client.start(order, { id: 'o-1', cents: 100, address: 'Winter Road 1' })
    await eventually('the order waits for approval', async () => (await client.get(runId)).status === 'waiting')
    expect(await client.get(runId)).toMatchObject({ progress: { state: 'charged' }, waitingFor: [{ kind: 'signal', on: 'approved' }] })
    expect(await client.signal(runId, approved, { by: 'ann' })).toEqual({ accepted: true })
    expect(await client.result(runId, PATIENCE)).toMatchObject({ parcel: 'parcel-o-1', approvedBy: 'ann' })
  })

  it('order, too late, and undone', async () => {
    const { runId } = await client.start(order, { id: 'o-2', cents: 100, address: 'Winter Road 1', patience: '2s' })
    await expect(client.result(runId, PATIENCE)).rejects.toThrow("nobody approved order 'o-2' in time")
    expect(await client.history(runId)).toContainEqual(expect.objectContaining({ type: 'step.completed', id: 'compensate/refund' }))
  })

  it('fan-out, a hundred ways', async () => {
    const { runId } = await client.start(fanOut, { items: 100, concurrency: 100 })
    expect(await client.result(runId, PATIENCE)).toEqual({ count: 100, sum: 328_350 })
  })

  it('flaky, retried by later invocations', async () => {
    const { runId } = await client.start(flaky, { failures: 2 })
    expect(await client.result(runId, PATIENCE)).toEqual({ attempts: 3 })
    const retries = (await client.history(runId)).filter(({ type }) => type === 'step.retrying')
    expect(retries).toHaveLength(2)
  })

  it('parent and children', async () => {
    const { runId } = await client.start(parent, { cities: ['Oslo', 'Umeå', 'Tromsø'] })
    expect(await client.result(runId, PATIENCE)).toEqual({ letters: 14 })
    const children = (await client.history(runId)).flatMap((event) => (event.type === 'child.started' ? [event.run] : []))
    for (const child of children) expect(await client.get(child)).toMatchObject({ workflow: 'child', status: 'completed', parent: { runId } })
  })

  it('refuse strangers, unknown names and bad input', async () => {
    expect((await fetch(`${url}/workflows`)).status).toBe(403)
    expect((await fetch(`${url}/healthz`)).status).toBe(403)
    await expect(client.start('nope', {})).rejects.toThrow(/child, .*nap, .*order/)
    await expect(client.start('nap', { name: 1 })).rejects.toThrow(/\$\.name/)
    await expect(client.get('no-such-run')).rejects.toThrow("no run 'no-such-run'")
  })
})
