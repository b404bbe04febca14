import { createServer, type IncomingMessage } from 'node:http'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { FatalError } from '../../sdk/index.ts'
import { LambdaFunctions } from '../../sdk/worlds/aws/lambda-functions.ts'
import { SignedFetch } from '../../sdk/worlds/aws/signed-fetch.ts'
import { awsClients } from './clients.ts'

/** What Lambda would answer, and what it was asked. */
let answer: { status: number; body: string; headers?: Record<string, string> }
const asked: { request: IncomingMessage; body: string }[] = []
const server = createServer((request, response) => {
  let body = ''
  request.on('data', (chunk) => (body += chunk))
  request.on('end', () => {
    asked.push({ request, body })
    response.writeHead(answer.status, answer.headers).end(answer.body)
  })
})

beforeEach(async () => {
  asked.length = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  vi.stubEnv('AWS_ENDPOINT_URL_LAMBDA', `http://127.0.0.1:${(server.address() as { port: number }).port}`)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const invoke = () => {
  const functions = new LambdaFunctions(new SignedFetch(awsClients().dynamodb))
  return functions.invoke(
    'arn:aws:lambda:us-east-1:1:function:pay',
    { cents: 5 },
    { idempotencyKey: 'run/pay', signal: new AbortController().signal },
  )
}

it('invokes the function, signed, with the payload and the idempotency key', async () => {
  answer = { status: 200, body: '{"paid":true}' }
  expect(await invoke()).toEqual({ paid: true })
  const [{ request, body }] = asked as [(typeof asked)[0]]
  expect(request.url).toBe('/2015-03-31/functions/arn%3Aaws%3Alambda%3Aus-east-1%3A1%3Afunction%3Apay/invocations')
  expect(request.headers.authorization).toMatch(/^AWS4-HMAC-SHA256 .*\/lambda\/aws4_request/)
  expect(JSON.parse(Buffer.from(String(request.headers['x-amz-client-context']), 'base64').toString())).toEqual({
    custom: { idempotencyKey: 'run/pay' },
  })
  expect(JSON.parse(body)).toEqual({ cents: 5 })
})

it('throws what the function threw, to be retried by the step', async () => {
  answer = {
    status: 200,
    body: '{"errorType":"CardError","errorMessage":"declined"}',
    headers: { 'x-amz-function-error': 'Unhandled' },
  }
  await expect(invoke()).rejects.toMatchObject({
    name: 'CardError',
    message: "function 'arn:aws:lambda:us-east-1:1:function:pay' failed: declined",
  })
  await expect(invoke()).rejects.not.toBeInstanceOf(FatalError)
})

it('gives up on what asking again cannot mend, and not on throttling', async () => {
  answer = { status: 404, body: 'no' }
  await expect(invoke()).rejects.toBeInstanceOf(FatalError)
  answer = { status: 429, body: 'slow down' }
  await expect(invoke()).rejects.not.toBeInstanceOf(FatalError)
  expect(asked).toHaveLength(2)
})
