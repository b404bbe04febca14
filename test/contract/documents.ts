import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WorldUnderTest } from './contract.ts'

/** What sdk/ports/ promises of documents, for every world. */
export function documentsContract(name: string, open: () => Promise<WorldUnderTest>): void {
  describe(`documents contract: ${name}`, () => {
    let under: WorldUnderTest
    let serial = 0
    const documents = () => under.world.documents
    const now = () => under.clock.now()
    const fresh = () => `collection-${++serial}`
    const keys = (found: { key: string }[]) => found.map(({ key }) => key)

    beforeAll(async () => {
      under = await open()
    })
    afterAll(() => under.close())

    it('returns what was put, and counts its versions', async () => {
      const collection = fresh()
      expect(await documents().get(collection, 'a')).toBeUndefined()
      expect(await documents().put(collection, 'a', { n: 1 })).toEqual({ key: 'a', value: { n: 1 }, version: 1 })
      expect(await documents().put(collection, 'a', [null, 'ä'])).toEqual({ key: 'a', value: [null, 'ä'], version: 2 })
      expect(await documents().get(collection, 'a')).toEqual({ key: 'a', value: [null, 'ä'], version: 2 })
    })

    it('keeps collections apart', async () => {
      const [one, two] = [fresh(), fresh()]
      await documents().put(one, 'a', 1)
      expect(await documents().get(two, 'a')).toBeUndefined()
      expect(await documents().list(two)).toEqual([])
      expect(await documents().delete(two, 'a')).toBe(false)
    })

    it('puts only if absent, where that is asked for', async () => {
      const collection = fresh()
      expect(await documents().put(collection, 'a', 'first', { ifVersion: 0 })).toMatchObject({ version: 1 })
      expect(await documents().put(collection, 'a', 'second', { ifVersion: 0 })).toBeUndefined()
      expect(await documents().get(collection, 'a')).toMatchObject({ value: 'first' })
    })

    it('puts only over the version that was read', async () => {
      const collection = fresh()
      expect(await documents().put(collection, 'a', 'x', { ifVersion: 1 })).toBeUndefined()
      await documents().put(collection, 'a', 'x')
      expect(await documents().put(collection, 'a', 'y', { ifVersion: 1 })).toMatchObject({ version: 2 })
      expect(await documents().put(collection, 'a', 'z', { ifVersion: 1 })).toBeUndefined()
      expect(await documents().get(collection, 'a')).toMatchObject({ value: 'y', version: 2 })
    })

    it('lets one of many writers win a version, and loses no put without a condition', async () => {
      const collection = fresh()
      await documents().put(collection, 'a', 0)
      const racing = await Promise.all(
        Array.from({ length: 10 }, (_, n) => documents().put(collection, 'a', n, { ifVersion: 1 })),
      )
      expect(racing.filter((written) => written !== undefined)).toHaveLength(1)
      const all = await Promise.all(Array.from({ length: 5 }, (_, n) => documents().put(collection, 'a', n)))
      expect(all.map((written) => written?.version).sort()).toEqual([3, 4, 5, 6, 7])
    })

    it('deletes, whatever is there or only the version that was read', async () => {
      const collection = fresh()
      await documents().put(collection, 'a', 1)
      await documents().put(collection, 'a', 2)
      expect(await documents().delete(collection, 'a', 1)).toBe(false)
      expect(await documents().delete(collection, 'a', 2)).toBe(true)
      expect(await documents().delete(collection, 'a')).toBe(false)
      expect(await documents().get(collection, 'a')).toBeUndefined()
      expect(await documents().list(collection)).toEqual([])
      expect(await documents().put(collection, 'a', 3, { ifVersion: 0 })).toEqual({ key: 'a', value: 3, version: 1 })
    })

    it('lists in the order of the keys, in either direction, page by page', async () => {
      const collection = fresh()
      for (const key of ['b', 'é', 'a#2', 'B', '😀', 'a', '﹪']) await documents().put(collection, key, key)
      const ordered = ['B', 'a', 'a#2', 'b', 'é', '﹪', '😀']
      expect(keys(await documents().list(collection))).toEqual(ordered)
      expect(keys(await documents().list(collection, { backwards: true }))).toEqual(ordered.toReversed())
      expect(keys(await documents().list(collection, { limit: 2 }))).toEqual(['B', 'a'])
      expect(keys(await documents().list(collection, { after: 'a', limit: 2 }))).toEqual(['a#2', 'b'])
      expect(keys(await documents().list(collection, { after: 'a#1' }))).toEqual(ordered.slice(2))
      expect(keys(await documents().list(collection, { after: 'b', limit: 2, backwards: true }))).toEqual(['a#2', 'a'])
      expect(await documents().list(collection, { after: '😀' })).toEqual([])
    })

    it('takes an expired document for absent, in everything', async () => {
      const collection = fresh()
      const expiresAt = now() + 1_500
      await documents().put(collection, 'a', 1)
      expect(await documents().put(collection, 'b', 1, { expiresAt })).toEqual({
        key: 'b',
        value: 1,
        version: 1,
        expiresAt,
      })
      await documents().put(collection, 'c', 1, { expiresAt })
      await documents().put(collection, 'd', 1)
      under.clock.moveTo(expiresAt - 1)
      expect(await documents().get(collection, 'b')).toEqual({ key: 'b', value: 1, version: 1, expiresAt })
      expect(keys(await documents().list(collection))).toEqual(['a', 'b', 'c', 'd'])
      expect(await documents().put(collection, 'b', 2, { ifVersion: 0 })).toBeUndefined()
      under.clock.moveTo(expiresAt)
      expect(await documents().get(collection, 'b')).toBeUndefined()
      expect(keys(await documents().list(collection, { limit: 2 }))).toEqual(['a', 'd'])
      expect(await documents().put(collection, 'b', 2, { ifVersion: 1 })).toBeUndefined()
      expect(await documents().delete(collection, 'b')).toBe(false)
      expect(await documents().put(collection, 'b', 2, { ifVersion: 0 })).toEqual({ key: 'b', value: 2, version: 1 })
      expect(await documents().put(collection, 'c', 2)).toEqual({ key: 'c', value: 2, version: 1 })
      under.clock.moveTo(expiresAt + 86_400_000)
      expect(keys(await documents().list(collection))).toEqual(['a', 'b', 'c', 'd'])
    })

    it('keeps values of any size', async () => {
      const collection = fresh()
      const noise = Array.from({ length: 120_000 }, () => Math.random().toString(36).slice(2))
      await documents().put(collection, 'large', noise)
      expect((await documents().get(collection, 'large'))?.value).toEqual(noise)
      expect((await documents().list(collection))[0]?.value).toEqual(noise)
    })
  })
}
