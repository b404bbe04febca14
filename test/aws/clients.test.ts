import { createServer } from 'node:http'
import { DescribeTableCommand } from '@aws-sdk/client-dynamodb'
import { expect, it, vi } from 'vitest'
import { lazyClients } from '../../sdk/worlds/aws/clients.ts'

it('a call that hangs is given up and made again', async () => {
  let calls = 0
  const server = createServer((_request, response) => {
    if (++calls > 1) response.setHeader('content-type', 'application/x-amz-json-1.0').end('{"Table":{"TableName":"t"}}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', `http://127.0.0.1:${(server.address() as { port: number }).port}`)
  const { dynamodb } = lazyClients()
  try {
    expect((await dynamodb.send(new DescribeTableCommand({ TableName: 't' }))).Table?.TableName).toBe('t')
    expect(calls).toBe(2)
  } finally {
    vi.unstubAllEnvs()
    dynamodb.destroy()
    server.closeAllConnections()
    server.close()
  }
})
