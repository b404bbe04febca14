import * as theirs from '@smithy/core/checksum'
import { expect, test } from 'vitest'
import { Md5, Sha256 } from '../../functions/lambda-checksums.ts'

interface Checksum {
  update(data: string | Uint8Array): void
  digest(): Promise<Uint8Array>
  reset(): void
}

async function digests(hash: Checksum): Promise<string[]> {
  hash.update('text, with an ä')
  hash.update(new TextEncoder().encode('bytes').subarray(1, 3))
  const first = await hash.digest()
  hash.reset()
  hash.update('again')
  return [first, await hash.digest()].map((digest) => Buffer.from(digest).toString('hex'))
}

test('the checksums of the bundles are those of the SDK', async () => {
  const key = new TextEncoder().encode('xsecret').subarray(1)
  expect(await digests(new Sha256())).toEqual(await digests(new theirs.Sha256()))
  expect(await digests(new Sha256(key))).toEqual(await digests(new theirs.Sha256(key)))
  expect(await digests(new Sha256('secret'))).toEqual(await digests(new theirs.Sha256(key)))
  expect(await digests(new Md5())).toEqual(await digests(new theirs.Md5()))
})
