import { expect, it } from 'vitest'
import { PATIENCE_MS } from '../outside/patience.ts'
import { deployed } from './deployment.ts'
import { ownResources } from './workflows.ts'

it('a step reads its own table and its secrets with what the construct was granted, and nothing that it was not', async () => {
  const { client } = await deployed()
  const { runId } = await client.start(ownResources, { id: 'order-1' })
  expect(await client.result(runId, { timeout: PATIENCE_MS })).toEqual({
    total: 3,
    secrets: { apiKeyWhenLoaded: 'key of the tests', password: 'pa55', feature: 'on' },
    trespass: 'AccessDeniedException',
  })
})
