import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { arrivalsOf } from '../../functions/event-records.ts'
import type { Subscription } from '../../functions/subscription.ts'
import { SOURCES, type SourceKind } from '../../sdk/events/shapes.ts'
import { bucketRecord, queueRecord, streamRecord, topicRecord } from '../events/records.ts'

const of = (source: SourceKind, mostReceives?: number): Subscription => ({
  name: 's',
  source,
  kind: 'start',
  mapping: 'm',
  patienceMs: 1,
  ...(mostReceives !== undefined && { mostReceives }),
})

describe('what mappings see', () => {
  it('of EventBridge is the event as it is', () => {
    const event = { id: 'e-1', time: '2026-01-01T00:00:00Z', source: 'shop', 'detail-type': 'placed', detail: { a: 1 } }
    expect(arrivalsOf(event, of('bus'))).toEqual([{ event }])
  })

  it('of a dead letter that Lambda wrote is what the function was invoked with; of one too large for a letter, where it is', () => {
    const event = { id: 'e-1', time: '2026-01-01T00:00:00Z', detail: 1 }
    const letter = {
      version: '1.0',
      requestContext: { functionArn: 'arn:aws:lambda:eu-west-1:1:function:f', condition: 'RetriesExhausted' },
      requestPayload: event,
    }
    expect(arrivalsOf(letter, of('bus'))).toEqual([{ event }])
    expect(
      arrivalsOf({ ...letter, requestPayload: { Records: [topicRecord('t-1', '1')] } }, of('topic'))[0],
    ).toMatchObject({ event: { id: 't-1' } })
    const [large] = arrivalsOf({ id: 'e-2', tooLarge: 'dead-events/abc.json' }, of('bus'))
    expect(large!.problem).toContain('in the payload bucket, under dead-events/abc.json. Send that')
  })

  it('of a queue is the message, parsed where it is JSON', () => {
    const records = [
      queueRecord('m-1', '{"order":1}'),
      queueRecord('m-2', 'not {json'),
      queueRecord('m-3', '['.repeat(5_000) + ']'.repeat(5_000)),
    ]
    const arrivals = arrivalsOf({ Records: records }, of('queue'))
    expect(arrivals[0]).toEqual({
      itemId: 'm-1',
      isLastTry: false,
      event: {
        id: 'm-1',
        time: '2026-01-01T00:00:00.000Z',
        queue: 'orders',
        body: { order: 1 },
        attributes: { kind: 'new' },
      },
    })
    expect(arrivals.slice(1).map(({ event }) => typeof (event as { body: unknown }).body)).toEqual(['string', 'string'])
  })

  it('of a FIFO queue has its group, in which order is kept; groups of another queue keep none', () => {
    const [fifo] = arrivalsOf(
      { Records: [queueRecord('m-1', '1', { group: 'customer-7', queue: 'orders.fifo' })] },
      of('queue'),
    )
    expect(fifo).toMatchObject({ group: 'customer-7', event: { group: 'customer-7' } })
    const [fair] = arrivalsOf({ Records: [queueRecord('m-1', '1', { group: 'tenant-7' })] }, of('queue'))
    expect(fair!.group).toBeUndefined()
  })

  it('of a queue with dead letters of its own comes for the last time when it says so', () => {
    const lastTry = (receives: number) =>
      arrivalsOf({ Records: [queueRecord('m', '1', { receives })] }, of('queue', 3))[0]!.isLastTry
    expect([1, 2, 3].map(lastTry)).toEqual([false, false, true])
  })

  it('of a topic is the message', () => {
    expect(arrivalsOf({ Records: [topicRecord('n-1', '{"order":1}')] }, of('topic'))).toEqual([
      {
        event: {
          id: 'n-1',
          time: '2026-01-01T00:00:00.000Z',
          topic: 'orders',
          subject: 'new',
          message: { order: 1 },
          attributes: { kind: 'new' },
        },
      },
    ])
  })

  it('of a bucket is the object, whose key is spelt as it is', () => {
    const [first, second] = arrivalsOf(
      { Records: [bucketRecord('in/a+b%26c.csv', '0A'), bucketRecord('in/a+b%26c.csv', '0B')] },
      of('bucket'),
    )
    expect(first!.event).toEqual({
      id: expect.any(String),
      time: '2026-01-01T00:00:00.000Z',
      eventName: 'ObjectCreated:Put',
      bucket: 'uploads',
      key: 'in/a b&c.csv',
      size: 3,
      etag: 'abc',
    })
    // Written again, it is another event; told again, it is the same.
    expect((second!.event as { id: string }).id).not.toBe((first!.event as { id: string }).id)
    expect(arrivalsOf({ Records: [bucketRecord('in/a+b%26c.csv', '0A')] }, of('bucket'))).toEqual([first])
  })

  it('of a stream is plain data, in the order of each item', () => {
    const image = {
      id: { S: 'o-1' },
      total: { N: '5' },
      huge: { N: '12345678901234567890' },
      tags: { SS: ['a', 'b'] },
      bytes: { B: 'AAE=' },
      more: { M: { x: { BOOL: true } } },
    }
    const [arrival] = arrivalsOf({ Records: [streamRecord('s-1', 'INSERT', { NewImage: image })] }, of('stream'))
    expect(arrival).toEqual({
      itemId: 'at s-1',
      group: '{"id":{"S":"o-1"}}',
      event: {
        id: 's-1',
        time: '2026-01-01T00:00:00.000Z',
        eventName: 'INSERT',
        table: 'Orders',
        keys: { id: 'o-1' },
        newImage: {
          id: 'o-1',
          total: 5,
          huge: '12345678901234567890',
          tags: ['a', 'b'],
          bytes: 'AAE=',
          more: { x: true },
        },
      },
    })
  })

  it('of an invocation by hand is the event, whatever the source', () => {
    for (const source of SOURCES)
      expect(arrivalsOf({ id: 'e-1', body: {} }, of(source))).toEqual([{ event: { id: 'e-1', body: {} } }])
  })
})

describe('what is no event', () => {
  it('is told apart by a problem, and keeps the name that its source gave it', () => {
    for (const source of SOURCES)
      expect(arrivalsOf(null, of(source))).toEqual([
        { event: null, problem: 'an event is an object, and this is none' },
      ])
    expect(arrivalsOf({ Records: [{ messageId: 'm-1' }] }, of('queue'))).toEqual([
      { event: { messageId: 'm-1' }, itemId: 'm-1', problem: expect.stringContaining('it is not what a queue sends') },
    ])
    expect(arrivalsOf({ Records: [{ dynamodb: { SequenceNumber: '7' } }] }, of('stream'))).toMatchObject([
      { itemId: '7', problem: expect.any(String) },
    ])
    expect(arrivalsOf({ Records: [bucketRecord('%E0%A4%A', '0A')] }, of('bucket'))).toMatchObject([
      { problem: expect.stringContaining('URI malformed') },
    ])
  })

  it('never makes it throw, whatever it is: one arrival for each record', () => {
    const record = fc.oneof(
      fc.anything(),
      fc.record(
        { messageId: fc.anything(), body: fc.anything(), attributes: fc.anything(), eventSourceARN: fc.anything() },
        { requiredKeys: [] },
      ),
      fc.record({ Sns: fc.anything(), s3: fc.anything(), dynamodb: fc.anything() }, { requiredKeys: [] }),
    )
    fc.assert(
      fc.property(fc.constantFrom(...SOURCES), fc.array(record, { maxLength: 5 }), (source, Records) => {
        expect(arrivalsOf({ Records }, of(source))).toHaveLength(source === 'bus' ? 1 : Records.length)
      }),
      { numRuns: 1_000 },
    )
  })
})
