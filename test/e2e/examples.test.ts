import { beforeAll, describe, expect, it } from 'vitest'
import { describeExamples } from '../../workflows/suite/index.ts'
import { type Deployment, deployed } from './deployment.ts'
import { deployedStage } from './stage.ts'

describe('deployed by cdk and called over HTTP, the examples', () => {
  let deployment: Deployment
  beforeAll(async () => {
    deployment = await deployed()
  })

  describeExamples(() => deployedStage(deployment))

  it('refuse strangers, unknown names and bad input', async () => {
    const { client, url } = deployment
    expect((await fetch(`${url}/workflows`)).status).toBe(403)
    expect((await fetch(`${url}/healthz`)).status).toBe(403)
    await expect(client.start('nope', {})).rejects.toThrow(/child, .*nap, .*order/)
    await expect(client.start('nap', { name: 1 })).rejects.toThrow(/\$\.name/)
    await expect(client.get('no-such-run')).rejects.toThrow("no run 'no-such-run'")
  })
})
