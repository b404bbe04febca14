import { beforeAll, describe, expect, it } from 'vitest'
import { ConflictError, InvalidInputError, UnknownWorkflowError } from '../../sdk/http-client/index.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { type Deployment, deployed, eventually } from './deployment.ts'

const campaign = (template: string, durationMs: number) => ({
  steps: [
    { type: 'task', name: 'welcome', handler: 'sendEmail', config: { template: 'welcome' } },
    { type: 'wait', name: 'patience', durationMs },
    { type: 'task', name: 'follow-up', handler: 'sendEmail', config: { template: `{{ '${template} ' & input.to }}` } },
  ],
})

describe('a definition, deployed', () => {
  const name = `campaign-${Date.now().toString(36)}`
  let client: Deployment['client']
  beforeAll(async () => {
    client = (await deployed()).client
  })

  const statuses = async (runId: string) => (await client.steps(runId)).map(({ status }) => status)
  const followUp = async (runId: string) => {
    const { outputs } = await client.result<{ outputs: Record<string, string> }>(runId, { timeout: PATIENCE_MS })
    return outputs['follow-up']
  }

  it('is refused with every problem, or saved, and started like any workflow', async () => {
    await expect(
      client.putDefinition(name, {
        steps: [
          { type: 'task', name: 'a', handler: 'nobody' },
          { type: 'wait', name: 'a' },
        ],
      }),
    ).rejects.toThrow(InvalidInputError)
    expect(await client.putDefinition(name, campaign('one', 8_000))).toMatchObject({ version: 1, isNew: true })
    expect(await client.putDefinition(name, campaign('one', 8_000))).toMatchObject({ version: 1, isNew: false })
    expect(await client.listDefinitions()).toContainEqual(expect.objectContaining({ name, version: 1 }))
  })

  it('shows which step waits, keeps a run on its version while a newer one is saved, and cannot be deleted meanwhile', async () => {
    const old = await client.start(name, { to: 'ann' })
    await eventually('its second step waits', async () => (await statuses(old.runId))[1] === 'WAITING')
    expect(await client.steps(old.runId)).toMatchObject([
      { name: 'welcome', status: 'COMPLETED' },
      { name: 'patience', status: 'WAITING', wakeAt: expect.any(Number) },
      { name: 'follow-up', status: 'PENDING' },
    ])
    expect(await client.putDefinition(name, campaign('two', 1_000))).toMatchObject({ version: 2, isNew: true })
    const young = await client.start(name, { to: 'bob' })
    await expect(client.deleteDefinition(name)).rejects.toThrow(ConflictError)
    expect(await followUp(young.runId)).toContain('two bob')
    expect(await followUp(old.runId)).toContain('one ann')
    expect([(await client.get(old.runId)).version, (await client.get(young.runId)).version]).toEqual([1, 2])
    expect(await statuses(old.runId)).toEqual(['COMPLETED', 'COMPLETED', 'COMPLETED'])
  })

  it('is deleted once its runs have ended, and then unknown', async () => {
    await client.deleteDefinition(name)
    await expect(client.getDefinition(name)).rejects.toThrow(UnknownWorkflowError)
    await expect(client.start(name, {})).rejects.toThrow(UnknownWorkflowError)
  })
})
