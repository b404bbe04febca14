import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'
import { AwsInMemory } from './aws-in-memory.ts'

const DAY = 86_400_000
const bytes = (text: string) => new TextEncoder().encode(text)

function setUp() {
  const clock = new VirtualClock(0)
  const aws = new AwsInMemory({
    seed: 'objects',
    clock,
    lifecycle: [{ prefix: 'runs/', afterMs: 30 * DAY, lagMs: [0, 2 * DAY] }],
  })
  return { clock, aws, bucket: aws.objectsOf(aws.network('test')) }
}

describe('a bucket', () => {
  it('gives back what was put, and a copy of it', async () => {
    const { bucket } = setUp()
    const body = bytes('a')
    await bucket.put('k', body)
    body[0] = 0
    const got = await bucket.get('k')
    got[0] = 1
    expect(await bucket.get('k')).toEqual(bytes('a'))
  })

  it('says NoSuchKey for what is not there', async () => {
    const { aws, bucket } = setUp()
    await bucket.put('k', bytes('a'))
    aws.objects.delete('k')
    await expect(bucket.get('k')).rejects.toMatchObject({ name: 'NoSuchKey' })
  })

  it('lists by prefix, with ages', async () => {
    const { clock, aws, bucket } = setUp()
    await bucket.put('runs/b', bytes('bb'))
    clock.moveTo(1_000)
    await bucket.put('runs/a', bytes('a'))
    await bucket.put('documents/a', bytes('a'))
    expect(aws.objects.list('runs/')).toMatchObject([
      { key: 'runs/a', size: 1, ageMs: 0 },
      { key: 'runs/b', size: 2, ageMs: 1_000 },
    ])
  })

  it('clears objects away by their age, not before it and at most the lag later', async () => {
    const { clock, aws, bucket } = setUp()
    for (let i = 0; i < 20; i++) await bucket.put(`runs/${i}`, bytes('a'))
    await bucket.put('documents/a', bytes('a'))
    clock.moveTo(30 * DAY - 1)
    expect(aws.objects.list('runs/')).toHaveLength(20)
    clock.moveTo(31 * DAY)
    const left = aws.objects.list('runs/').length
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThan(20)
    clock.moveTo(32 * DAY)
    expect(aws.objects.list().map(({ key }) => key)).toEqual(['documents/a'])
  })

  it('counts the age from the last put', async () => {
    const { clock, bucket } = setUp()
    await bucket.put('runs/a', bytes('a'))
    clock.moveTo(20 * DAY)
    await bucket.put('runs/a', bytes('b'))
    clock.moveTo(49 * DAY)
    expect(await bucket.get('runs/a')).toEqual(bytes('b'))
  })
})
