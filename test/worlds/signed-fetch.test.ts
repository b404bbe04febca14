import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { afterEach, expect, it, vi } from 'vitest'
import { SignedFetch, type SignedRequest } from '../../sdk/worlds/aws/signed-fetch.ts'
import { fakeServer } from '../cli/fake-server.ts'
import { signatureOf } from '../cli/signature.ts'

afterEach(() => vi.unstubAllEnvs())

const credentials = { accessKeyId: 'AKIDSHOP', secretAccessKey: 'shop-secret', sessionToken: 'for-an-hour' }
const aws = new SignedFetch(new DynamoDBClient({ region: 'eu-north-1', credentials }))
const to = (service: SignedRequest['service'], path: string, rest: Partial<SignedRequest>): SignedRequest => ({
  service,
  host: service,
  path: { aws: path, standIn: path },
  method: 'POST',
  attempts: 1,
  ...rest,
})

it.each([
  ['eu-north-1', 'bucket.s3.eu-north-1.amazonaws.com'],
  ['us-gov-west-1', 'bucket.s3.us-gov-west-1.amazonaws.com'],
  ['cn-north-1', 'bucket.s3.cn-north-1.amazonaws.com.cn'],
  ['us-iso-east-1', 'bucket.s3.us-iso-east-1.c2s.ic.gov'],
  ['us-isob-east-1', 'bucket.s3.us-isob-east-1.sc2s.sgov.gov'],
  ['eusc-de-east-1', 'bucket.s3.eusc-de-east-1.amazonaws.eu'],
])('a request from %s goes to the host of its partition', async (region, host) => {
  vi.stubEnv('AWS_ENDPOINT_URL', undefined)
  vi.stubEnv('AWS_ENDPOINT_URL_S3', undefined)
  const asked: string[] = []
  vi.stubGlobal('fetch', async (url: URL) => {
    asked.push(url.host)
    return new Response('')
  })
  await new SignedFetch(new DynamoDBClient({ region, credentials })).send({
    ...to('s3', '/runs/a', { method: 'GET' }),
    host: 'bucket.s3',
  })
  vi.unstubAllGlobals()
  expect(asked).toEqual([host])
})

it.each<[string, SignedRequest]>([
  [
    'S3, whose paths are signed as they are',
    to('s3', '/bucket/runs/a%20b/%C3%BC', {
      method: 'PUT',
      body: 'payload',
      headers: { 'content-type': 'text/plain' },
    }),
  ],
  ['S3, without a body', to('s3', '/bucket/runs/a', { method: 'GET' })],
  ['S3, with a question', to('s3', '/bucket/?list-type=2&prefix=runs%2Fa%20b%2F', { method: 'GET' })],
  [
    'Lambda, whose paths are escaped once more',
    to('lambda', '/2015-03-31/functions/arn%3Aaws%3Alambda/invocations', { body: '{"cents":5}' }),
  ],
  [
    'Secrets Manager',
    to('secretsmanager', '/', { body: '{}', headers: { 'x-amz-target': 'secretsmanager.GetSecretValue' } }),
  ],
])('a request is signed as AWS checks it: %s', async (_, request) => {
  await using server = await fakeServer(() => ({ body: '{}' }))
  vi.stubEnv('AWS_ENDPOINT_URL', server.url)
  expect((await aws.send(request)).status).toBe(200)
  const [asked] = server.asked
  expect(asked!.body).toBe(request.body ?? '')
  expect(asked!.request.headers).toMatchObject({ ...request.headers, 'x-amz-security-token': 'for-an-hour' })
  const signed = signatureOf(asked!.request, asked!.body)!
  expect(signed).toMatchObject({ accessKeyId: 'AKIDSHOP', region: 'eu-north-1', service: request.service })
  expect(signed.isMadeWith('shop-secret')).toBe(true)
  expect(signed.isMadeWith('another')).toBe(false)
})
