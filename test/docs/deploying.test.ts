import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Asked, fakeServer } from '../cli/fake-server.ts'
import { Running } from '../cli/fixture.ts'
import { signatureOf } from '../cli/signature.ts'

const root = new URL('../..', import.meta.url).pathname
const read = (file: string) => readFileSync(join(root, file), 'utf8')

it('every option of the construct is explained in docs/deploying.md, and none that it does not have', () => {
  const [, props] = /export interface OverwinterProps \{\n([\s\S]*?)\n\}/.exec(read('infra/options.ts'))!
  const options = [...props!.matchAll(/^ {2}(\w+)\??:/gm)].map(([, name]) => name)
  const [, section] = /## Options, one by one\n([\s\S]*?)\n## /.exec(read('docs/deploying.md'))!
  const explained = [...section!.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  expect(explained).toEqual(options)
})

it('the curl of docs/deploying.md signs its request for API Gateway', async () => {
  await using api = await fakeServer(() => ({ status: 201, body: '{}' }))
  const command = /```sh\n(curl [\s\S]*?)```/.exec(read('docs/deploying.md'))![1]!
  const env = {
    OVERWINTER_URL: api.url,
    AWS_ACCESS_KEY_ID: 'AKIDSHOP',
    AWS_SECRET_ACCESS_KEY: 'shop-secret',
    AWS_SESSION_TOKEN: 'for-an-hour',
  }
  await using curl = new Running('bash', ['-c', command], { env })
  expect(await curl.exited, curl.stderr).toBe(0)
  const [{ request, body }] = api.asked as [Asked]
  expect(JSON.parse(body)).toEqual({ input: { name: 'Ada', seconds: 60 } })
  const signed = signatureOf(request, body)!
  expect(signed).toMatchObject({ accessKeyId: 'AKIDSHOP', region: 'eu-west-1', service: 'execute-api' })
  expect(signed.isMadeWith('shop-secret')).toBe(true)
  expect(request.headers['x-amz-security-token']).toBe('for-an-hour')
})
