import { expect, it } from 'vitest'
import { sigv4 } from '../../sdk/http-client/sigv4.ts'
import { fakeServer } from '../cli/fake-server.ts'
import { signatureOf } from '../cli/signature.ts'

const credentials = { accessKeyId: 'AKID', secretAccessKey: 'secret', sessionToken: 'session' }

it.each([
  ['GET', '/runs?limit=5&tag=a%20b&tag=c&workflow=%C3%BC', undefined],
  ['GET', '/base/runs/r%2F1', undefined],
  ['POST', '/workflows/order/runs', '{"input":{"name":"Ü"}}'],
  ['PUT', '/limits/a%25b', '{"concurrency":5}'],
])('%s %s is signed as AWS checks it', async (method, path, body) => {
  await using server = await fakeServer(() => ({ body: '{}' }))
  const sign = sigv4({ region: 'eu-west-1', service: 'lambda', credentials })
  const headers = { 'content-type': 'application/json', 'idempotency-key': 'k' }
  const request = new Request(`${server.url}${path}`, { method, headers, ...(body !== undefined && { body }) })
  await fetch(await sign(request))
  const [asked] = server.asked
  expect(asked!.request).toMatchObject({ method, url: path })
  expect(asked!.request.headers).toMatchObject({ ...headers, 'x-amz-security-token': 'session' })
  expect(asked!.body).toBe(body ?? '')
  const signed = signatureOf(asked!.request, asked!.body)!
  expect(signed).toMatchObject({ accessKeyId: 'AKID', region: 'eu-west-1', service: 'lambda' })
  expect(signed.isMadeWith('secret')).toBe(true)
})
