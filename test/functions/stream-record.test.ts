import type { DynamoDBRecord } from 'aws-lambda'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { fakeServer } from '../cli/fake-server.ts'

beforeEach(() => vi.resetModules())
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

const frameInS3 = {
  dynamodb: {
    NewImage: {
      pk: { S: 'RUN#big' },
      sk: { S: 'J#0000000001' },
      life: { S: 'l' },
      at: { N: '1' },
      epoch: { N: '1' },
      events: { M: { s3: { S: 'runs/big/1/abc' } } },
    },
  },
} as unknown as DynamoDBRecord

/** What the lifecycle function makes of a frame whose object S3 answers for so. */
async function read(status: number, code: string): Promise<unknown> {
  const isS3 = (url = '') => url.startsWith('/payloads/')
  await using server = await fakeServer(({ request }) =>
    isS3(request.url) ? { status, body: `<Error><Code>${code}</Code></Error>` } : { body: '{}' },
  )
  vi.stubEnv('AWS_ENDPOINT_URL', server.url)
  const settings = {
    AWS_REGION: 'eu-north-1',
    AWS_ACCESS_KEY_ID: 'a',
    AWS_SECRET_ACCESS_KEY: 'b',
    OVERWINTER_TABLE: 'runs',
    OVERWINTER_BUCKET: 'payloads',
  }
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value)
  const { readRecord } = await import('../../functions/stream-record.ts')
  return await readRecord(frameInS3)
}

it('a frame that was erased from S3 tells nothing, and holds up none of the records behind it', async () => {
  const info = vi.spyOn(console, 'info').mockImplementation(() => {})
  expect(await read(404, 'NoSuchKey')).toEqual([])
  expect(info).toHaveBeenCalledWith(expect.objectContaining({ runId: 'big' }))
})

it('nor does one that S3 denies, which is how it answers for missing objects where listing is not allowed; the log says so', async () => {
  const error = vi.spyOn(console, 'error').mockImplementation(() => {})
  expect(await read(403, 'AccessDenied')).toEqual([])
  expect(error).toHaveBeenCalledWith(
    expect.objectContaining({ runId: 'big', message: expect.stringContaining('may not read') }),
  )
})

it('what passes, as an expired token does, fails the batch, which comes again', async () => {
  await expect(read(403, 'ExpiredToken')).rejects.toThrow('ExpiredToken')
})
