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
  path,
  body: '',
  attempts: 1,
  ...rest,
})

it.each([
  ['eu-north-1', 'lambda.eu-north-1.amazonaws.com'],
  ['us-gov-west-1', 'lambda.us-gov-west-1.amazonaws.com'],
  ['cn-north-1', 'lambda.cn-north-1.amazonaws.com.cn'],
  ['us-iso-east-1', 'lambda.us-iso-east-1.c2s.ic.gov'],
  ['us-isob-east-1', 'lambda.us-isob-east-1.sc2s.sgov.gov'],
  ['eusc-de-east-1', 'lambda.eusc-de-east-1.amazonaws.eu'],
])('a request from %s goes to the host of its partition', async (region, host) => {
  vi.stubEnv('AWS_ENDPOINT_URL', undefined)
  vi.stubEnv('AWS_ENDPOINT_URL_LAMBDA', undefined)
  const asked: string[] = []
  vi.stubGlobal('fetch', async ({ url }: Request) => {
    asked.push(new URL(url).host)
    return new Response('')
  })
  await new SignedFetch(new DynamoDBClient({ region, credentials })).send(to('lambda', '/', {}))
  vi.unstubAllGlobals()
  expect(asked).toEqual([host])
})

it.each<[string, SignedRequest]>([
  [
    'Lambda, whose paths are escaped once more',
    to('lambda', '/2015-03-31/functions/arn%3Aaws%3Alambda/invocations', { body: '{"cents":5}' }),
  ],
  ['Lambda, without a payload', to('lambda', '/2015-03-31/functions/pay/invocations', {})],
  ['CloudWatch, with bytes', to('xray', '/v1/traces', { body: new TextEncoder().encode('spans') })],
  [
    'CloudFormation, with a form',
    to('cloudformation', '/', {
      body: 'Action=DescribeStacks&StackName=a%20b',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    }),
  ],
])('a request is signed as AWS checks it: %s', async (_, request) => {
  await using server = await fakeServer(() => ({ body: '{}' }))
  vi.stubEnv('AWS_ENDPOINT_URL', server.url)
  expect((await aws.send(request)).status).toBe(200)
  const [asked] = server.asked
  expect(asked!.body).toBe(Buffer.from(request.body).toString())
  expect(asked!.request.headers).toMatchObject({ ...request.headers, 'x-amz-security-token': 'for-an-hour' })
  const signed = signatureOf(asked!.request, asked!.body)!
  expect(signed).toMatchObject({ accessKeyId: 'AKIDSHOP', region: 'eu-north-1', service: request.service })
  expect(signed.isMadeWith('shop-secret')).toBe(true)
  expect(signed.isMadeWith('another')).toBe(false)
})
