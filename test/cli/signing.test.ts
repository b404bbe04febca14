import { expect, test } from 'vitest'
import { AwsFiles, NOBODY } from './aws-files.ts'
import { fakeServer } from './fake-server.ts'
import { overwinter } from './fixture.ts'
import { signatureOf } from './signature.ts'

const anApi = () =>
  fakeServer(({ request }) =>
    request.method === 'POST' ? { status: 201, body: '{"runId":"r","status":"pending"}' } : { body: '{"runs":[]}' },
  )

test('--profile signs every request with that profile’s key, for its region: path, query, headers and body', async () => {
  await using api = await anApi()
  using files = new AwsFiles()
  const call = (...args: string[]) => overwinter([...args, '--url', api.url, '--profile', 'shop'], { env: files.env })
  expect(await call('runs', '--workflow', 'nap', '--status', 'sleeping')).toMatchObject({
    code: 0,
    stdout: 'no runs\n',
  })
  expect(await call('start', 'nap', '--input', '{"name":"Ada"}')).toMatchObject({ code: 0 })
  expect(api.asked).toHaveLength(2)
  for (const { request, body } of api.asked) {
    const signed = signatureOf(request, body)!
    expect(signed).toMatchObject({ accessKeyId: 'AKIDSHOP', region: 'eu-north-1', service: 'execute-api' })
    expect(signed.isMadeWith('shop-secret')).toBe(true)
    expect(signed.isMadeWith('default-secret')).toBe(false)
  }
  const [, start] = api.asked as [unknown, (typeof api.asked)[0]]
  expect(JSON.parse(start.body)).toEqual({ input: { name: 'Ada' } })
  // Whoever changes a request on its way is found out.
  expect(signatureOf(start.request, start.body.replace('Ada', 'Eve'))!.isMadeWith('shop-secret')).toBe(false)
})

test('AWS_REGION has the last word on the region', async () => {
  await using api = await anApi()
  using files = new AwsFiles()
  await overwinter(['runs', '--url', api.url, '--profile', 'shop'], { env: { ...files.env, AWS_REGION: 'us-west-2' } })
  const [{ request, body }] = api.asked as [(typeof api.asked)[0]]
  const signed = signatureOf(request, body)!
  expect(signed.region).toBe('us-west-2')
  expect(signed.isMadeWith('shop-secret')).toBe(true)
})

test('without a profile nothing is signed, except for an API of API Gateway; a token goes before both', async () => {
  await using api = await anApi()
  using files = new AwsFiles()
  await overwinter(['runs', '--url', api.url], { env: files.env })
  await overwinter(['runs', '--url', api.url, '--token', 'secret', '--profile', 'shop'], { env: files.env })
  expect(api.asked.map(({ request }) => request.headers.authorization)).toEqual([undefined, 'Bearer secret'])
  // Nobody is there; but before anybody could be, there would have to be a signature.
  const elsewhere = await overwinter(['runs', '--url', 'https://abc.execute-api.eu-west-1.amazonaws.com'], {
    env: NOBODY,
  })
  expect(elsewhere).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^no AWS credentials \(.*name another with --profile/),
  })
})

test('a profile that does not exist, or has no key, is told', async () => {
  await using api = await anApi()
  using files = new AwsFiles()
  const { code, stderr } = await overwinter(['runs', '--url', api.url, '--profile', 'shpo'], { env: files.env })
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^no AWS (region|credentials for profile 'shpo')/)])
  expect(api.asked).toEqual([])
})
