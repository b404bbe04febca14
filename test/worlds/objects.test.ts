import { afterEach, expect, it, vi } from 'vitest'
import { Objects } from '../../sdk/worlds/aws/objects.ts'
import { type Asked, fakeServer } from '../cli/fake-server.ts'
import { signatureOf } from '../cli/signature.ts'

afterEach(() => vi.unstubAllEnvs())

function stub(url: string): void {
  const variables = { AWS_REGION: 'eu-north-1', AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret' }
  for (const [name, value] of Object.entries({ ...variables, AWS_ENDPOINT_URL: url })) vi.stubEnv(name, value)
}

const keys = (truncated: boolean, names: string[]) =>
  `<ListBucketResult><IsTruncated>${truncated}</IsTruncated>` +
  (truncated ? '<NextContinuationToken>next</NextContinuationToken>' : '') +
  `${names.map((name) => `<Contents><Key>${name}</Key></Contents>`).join('')}</ListBucketResult>`

it('an object is put and got, signed, with the bucket in the path of a stand-in', async () => {
  await using server = await fakeServer(() => ({ body: 'payload' }))
  stub(server.url)
  const objects = new Objects('payloads')
  await objects.put('runs/a b/1', Buffer.from('payload'))
  expect(Buffer.from(await objects.get('runs/a b/1')).toString()).toBe('payload')
  expect(server.asked.map(({ request: { method, url } }) => `${method} ${url!.split('?')[0]}`)).toEqual([
    'PUT /payloads/runs/a%20b/1',
    'GET /payloads/runs/a%20b/1',
  ])
  expect(server.asked[0]!.body).toBe('payload')
  for (const { request, body } of server.asked)
    expect(signatureOf(request, body)).toMatchObject({ accessKeyId: 'AKID', region: 'eu-north-1', service: 's3' })
})

it('all objects under a prefix that are meant are removed, page by page', async () => {
  const answer = ({ request: { method, url } }: Asked) => {
    if (method === 'DELETE') return { status: 204, body: '' }
    return { body: url!.includes('continuation-token=next') ? keys(false, ['r/c']) : keys(true, ['r/a', 'r/b']) }
  }
  await using server = await fakeServer(answer)
  stub(server.url)
  await new Objects('payloads').removeAll('r/', (key) => key !== 'r/b')
  const removed = server.asked.filter(({ request }) => request.method === 'DELETE')
  expect(removed.map(({ request }) => request.url!.split('?')[0])).toEqual(['/payloads/r/a', '/payloads/r/c'])
})

it.each([
  [404, 'NoSuchKey', 'NoSuchKey'],
  [403, 'AccessDenied', 'AccessDenied'],
  [403, 'ExpiredToken', 'S3Error'],
])('a refusal with %i %s is told as %s, with what was asked', async (status, code, name) => {
  await using server = await fakeServer(() => ({
    status,
    body: `<Error><Code>${code}</Code><Message>no</Message></Error>`,
  }))
  stub(server.url)
  await expect(new Objects('payloads').get('runs/a')).rejects.toMatchObject({
    name,
    message: `S3 answered GET of 'runs/a' in bucket 'payloads' with ${status}: ${code}: no`,
  })
})
