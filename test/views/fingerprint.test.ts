import { describe, expect, it } from 'vitest'
import { recordError } from '../../sdk/base/error-records.ts'
import { ChildRunError, StepError } from '../../sdk/base/errors.ts'
import { fingerprint } from '../../sdk/views/fingerprint.ts'

const of = (message: string, step = 'charge', error: Error = new Error(message)) =>
  fingerprint('order', recordError(new StepError(step, 3, error)))

describe('a fingerprint', () => {
  it('is one for a thousand failures that differ in ids, numbers, times, addresses and quoted values', () => {
    const ids = Array.from({ length: 1_000 }, (_, i) => {
      const uuid = `6f9619ff-8b86-d011-b42d-${String(i).padStart(12, '0')}`
      const at = new Date(1_700_000_000_000 + i * 1_000).toISOString()
      return of(
        `no stock for order ord_${i}x of 'customer ${i}' (${uuid}) at ${at}, see https://shop.example/o/${i} or mail c${i}@shop.example`,
        `orders/${i}/charge:${i}`,
      ).id
    })
    expect(new Set(ids).size).toBe(1)
  })

  it('tells apart workflows, steps, kinds of errors, codes and what they say', () => {
    const all = [
      of('no stock'),
      of('no money'),
      of('no stock', 'ship'),
      of('', 'charge', new TypeError('no stock')),
      of('', 'charge', Object.assign(new Error('no stock'), { code: 'E_STOCK' })),
      fingerprint('refund', recordError(new StepError('charge', 3, new Error('no stock')))),
    ]
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
  })

  it('is one for all items of a map, whether they are known by their place or by a key', () => {
    for (const keys of [
      ['0', '17'],
      ['ord-1', 'ord-2'],
      ['ada@shop.example', 'grace@shop.example'],
      ['eu~11', 'us~12'],
    ])
      expect(new Set(keys.map((key) => of('no stock', `orders/${key}/charge`).id)).size, keys.join()).toBe(1)
    expect(of('no stock', 'orders/ord-1/charge').step).toBe('orders/*/charge')
    expect(of('no stock', 'orders/ord-1/lines/l-7/pick:2').step).toBe('orders/*/lines/*/pick')
  })

  it('tells apart maps, what is done to their items, and scopes by their names', () => {
    const steps = [
      'batch1/a/charge',
      'batch2/a/charge',
      'orders/ord-1/charge1',
      'orders/ord-1/charge2',
      'pay/card/charge',
      'pay/cash/charge',
      'pay/a~2b/charge',
    ]
    expect(new Set(steps.map((step) => of('no stock', step).id)).size).toBe(steps.length)
  })

  it('is of the error that it began with, through steps and children', () => {
    const { name, step, says } = fingerprint(
      'order',
      recordError(
        new StepError(
          'ship',
          1,
          new ChildRunError('c-7', 'failed', new StepError('pack:2', 3, new RangeError('no box of size 7 left'))),
        ),
      ),
    )
    expect({ name, step, says }).toEqual({ name: 'RangeError', step: 'pack', says: 'no box of size … left' })
  })

  it('of an error without a message is where it was thrown: without the line, which moves with every edit, and only in user code', () => {
    const thrown = (line: number, where = 'charge') => ({
      name: 'Error',
      message: '',
      stack: `Error\n    at lib (/app/node_modules/lib/index.js:1:1)\n    at ${where} (/app/workflows/order.ts:${line}:9)`,
    })
    expect(fingerprint('order', thrown(5))).toEqual({
      ...fingerprint('order', thrown(90)),
      says: 'at charge (/app/workflows/order.ts)',
    })
    expect(fingerprint('order', thrown(5)).id).not.toBe(fingerprint('order', thrown(5, 'refund')).id)
  })

  it('of a message without end is made of its beginning: looking at the whole of it would take seconds', () => {
    const of = (length: number) => fingerprint('order', { name: 'Error', message: 'a.'.repeat(length) }).id
    expect(of(32_000)).toBe(of(1_000))
  })

  it('of several errors at once is that of the first, so that those of other causes are others', () => {
    const of = (message: string) =>
      fingerprint('order', recordError(new AggregateError([new Error(message)], 'All promises were rejected')))
    expect(of('no stock').says).toBe('no stock')
    expect(of('no card').id).not.toBe(of('no stock').id)
  })

  it('of a message that begins with an empty line is made of the first that says something', () => {
    expect(fingerprint('order', { name: 'Error', message: '\n  no stock\nat all' }).says).toBe('no stock')
  })

  it('stays what it is: people save links to it', () => {
    expect(of('no stock for ord_1').id).toMatchInlineSnapshot(`"0na6syiwo3kq1"`)
  })
})
