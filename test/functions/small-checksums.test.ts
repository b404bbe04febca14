import { createHash, createHmac } from 'node:crypto'
import { Sha256 as Theirs } from '@smithy/core/checksum'
import { expect, it } from 'vitest'
import { Sha256 } from '../../functions/small-checksums.ts'

const hex = async (checksum: { digest: () => Promise<Uint8Array> }) => Buffer.from(await checksum.digest()).toString('hex')
const PARTS = ['text, ünicode', new Uint8Array([1, 2, 3]), new Uint8Array([0, 1, 2, 3, 4]).subarray(2, 4), new Uint8Array([9, 8]).buffer]

it.each([undefined, 'secret', new Uint8Array([7, 7, 7]).subarray(1)])(
  'the checksum in the bundles is what the SDK would have made, with the key %s or without',
  async (key) => {
    const [ours, theirs] = [new Sha256(key), new Theirs(key)]
    for (const part of PARTS) {
      ours.update(part)
      theirs.update(typeof part === 'string' ? new TextEncoder().encode(part) : new Uint8Array(part))
    }
    expect(await hex(ours)).toBe(await hex(theirs))
    ours.reset()
    ours.update('again')
    expect(await hex(ours)).toBe((key === undefined ? createHash('sha256') : createHmac('sha256', key)).update('again').digest('hex'))
  },
)

it('a checksum without a key can be read and gone on with', async () => {
  const checksum = new Sha256()
  checksum.update('a')
  await checksum.digest()
  checksum.update('b')
  expect(await hex(checksum)).toBe(createHash('sha256').update('ab').digest('hex'))
})
