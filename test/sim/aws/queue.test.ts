import { describe, expect, it } from 'vitest'
import { SeededRandom } from '../../../sdk/base/random.ts'
import { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'
import { Chance } from './chance.ts'
import { passTime, quiescence } from './pass-time.ts'
import { Queue, type QueueOptions } from './sqs/queue.ts'

const DAY = 86_400_000

function setUp(options: QueueOptions = {}) {
  const clock = new VirtualClock(0)
  const chance = new Chance(new SeededRandom('queue'))
  const dead = new Queue('dead', clock, chance)
  const queue = new Queue('queue', clock, chance, { deadLetters: dead, ...options })
  const bodies = async (most = 10) => (await queue.receive({ most })).map(({ body }) => body)
  return { clock, queue, dead, bodies }
}

describe('sending', () => {
  it('takes a delay of up to 900 seconds, and no other', async () => {
    const { clock, queue, bodies } = setUp()
    queue.send('late', 900)
    for (const delay of [901, -1, 0.5])
      expect(() => queue.send('x', delay)).toThrow(expect.objectContaining({ name: 'InvalidParameterValue' }))
    clock.moveTo(899_999)
    expect(await bodies()).toEqual([])
    clock.moveTo(900_000)
    expect(await bodies()).toEqual(['late'])
  })

  it('takes a mebibyte, counted in UTF-8', () => {
    const { queue } = setUp()
    queue.send('é'.repeat(524_288))
    expect(() => queue.send(`${'é'.repeat(524_288)}x`)).toThrow(/shorter than 1048576 bytes/)
    expect(() => queue.send('')).toThrow(expect.objectContaining({ name: 'MissingParameter' }))
  })

  it('refuses characters that XML does not know, and cannot carry half a surrogate pair', async () => {
    const { queue, bodies } = setUp()
    for (const body of ['\ufffe', '\uffff', '\u0000', '\u001f'])
      expect(() => queue.send(body)).toThrow(expect.objectContaining({ name: 'InvalidMessageContents' }))
    queue.send('\t\n\r 😀 \ud83d!')
    expect(await bodies()).toEqual(['\t\n\r 😀 \ufffd!'])
  })
})

describe('receiving', () => {
  it('hides a message until its visibility timeout is over', async () => {
    const { clock, queue, bodies } = setUp({ visibilityTimeoutS: 30 })
    queue.send('a')
    expect(await bodies()).toEqual(['a'])
    clock.moveTo(29_999)
    expect(await bodies()).toEqual([])
    clock.moveTo(30_000)
    const [again] = await queue.receive()
    expect(again).toMatchObject({ body: 'a', receiveCount: 2 })
  })

  it('waits for a message that is sent, becomes visible, or does not come', async () => {
    const { clock, queue } = setUp()
    const sent = queue.receive({ waitS: 20 })
    await quiescence()
    queue.send('now')
    expect(await sent).toMatchObject([{ body: 'now' }])
    queue.send('in a second', 1)
    const late = queue.receive({ waitS: 20 })
    await passTime(clock, 1_000)
    expect(await late).toMatchObject([{ body: 'in a second' }])
    const nothing = queue.receive({ waitS: 5 })
    await passTime(clock, 5_000)
    expect(await nothing).toEqual([])
  })

  it('can be given up', async () => {
    const { queue } = setUp()
    const giveUp = new AbortController()
    const waiting = queue.receive({ waitS: 20, signal: giveUp.signal })
    giveUp.abort()
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('keeps a message for 14 days', async () => {
    const { clock, queue, bodies } = setUp()
    queue.send('old')
    clock.moveTo(14 * DAY - 1)
    expect(queue.contents).toHaveLength(1)
    clock.moveTo(14 * DAY)
    expect(await bodies()).toEqual([])
    expect(queue.contents).toEqual([])
  })
})

describe('receipts', () => {
  it('of an earlier receive delete nothing, and deleting twice is no error', async () => {
    const { clock, queue } = setUp({ visibilityTimeoutS: 1 })
    queue.send('a')
    const [first] = await queue.receive()
    clock.moveTo(1_000)
    const [second] = await queue.receive()
    queue.delete(first!.receipt)
    expect(queue.contents).toHaveLength(1)
    queue.delete(second!.receipt)
    queue.delete(second!.receipt)
    expect(queue.contents).toEqual([])
  })

  it('that were never given are invalid', () => {
    const { queue } = setUp()
    expect(() => queue.delete('receipt-1')).toThrow(expect.objectContaining({ name: 'ReceiptHandleIsInvalid' }))
    expect(() => queue.changeVisibility('nonsense', 1)).toThrow(
      expect.objectContaining({ name: 'ReceiptHandleIsInvalid' }),
    )
  })

  it('change the visibility of a message in flight, and of no other', async () => {
    const { clock, queue, bodies } = setUp({ visibilityTimeoutS: 30 })
    queue.send('a')
    const [{ receipt } = { receipt: '' }] = await queue.receive()
    queue.changeVisibility(receipt, 0)
    expect(await bodies()).toEqual(['a'])
    expect(() => queue.changeVisibility(receipt, 1)).toThrow(expect.objectContaining({ name: 'InvalidParameterValue' }))
    clock.moveTo(30_000)
    const [again] = await queue.receive()
    clock.moveTo(60_000)
    expect(() => queue.changeVisibility(again!.receipt, 1)).toThrow(
      expect.objectContaining({ name: 'MessageNotInflight' }),
    )
  })
})

describe('a queue in a mood', () => {
  it('delivers twice, late and out of order, the same for the same seed', async () => {
    const play = async () => {
      const { clock, queue } = setUp({ habits: { twice: 0.3, lateMs: [0, 5_000] } })
      for (let i = 0; i < 30; i++) queue.send(`${i}`)
      const seen: string[] = []
      for (let at = 0; at <= 5_000; at += 50) {
        clock.moveTo(at)
        for (const { body, receipt } of await queue.receive({ most: 10 })) {
          seen.push(body)
          queue.delete(receipt)
        }
      }
      return seen
    }
    const seen = await play()
    expect(seen.length).toBeGreaterThan(30)
    expect(new Set(seen).size).toBe(30)
    expect(seen).not.toEqual([...seen].sort((a, b) => Number(a) - Number(b)))
    expect(await play()).toEqual(seen)
  })

  it('shows a message late, but never early', async () => {
    const { clock, queue, bodies } = setUp({ habits: { lateMs: [1_000, 3_000] } })
    queue.send('a', 10)
    clock.moveTo(10_999)
    expect(await bodies()).toEqual([])
    clock.moveTo(13_000)
    expect(await bodies()).toEqual(['a'])
  })

  it('keeps no order among messages that are all there', async () => {
    const { queue, bodies } = setUp()
    const sent = Array.from({ length: 10 }, (_, i) => `${i}`)
    for (const body of sent) queue.send(body)
    const received = await bodies()
    expect(received).not.toEqual(sent)
    expect(received.sort()).toEqual(sent)
  })

  it('buries what was received too often, with its age', async () => {
    const { clock, queue, dead, bodies } = setUp({ maxReceiveCount: 2, visibilityTimeoutS: 1 })
    queue.send('poison')
    for (let at = 0; at < 2_000; at += 1_000) {
      clock.moveTo(at)
      expect(await bodies()).toEqual(['poison'])
    }
    clock.moveTo(2_000)
    expect(await bodies()).toEqual([])
    expect(dead.contents).toMatchObject([{ body: 'poison', sentAt: 0 }])
  })
})
