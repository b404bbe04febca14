import type { Json } from '../sdk/base/json.ts'
import { decode, encode } from '../sdk/base/values.ts'
import { report } from './report.ts'

const small = { orderId: 'o-1', total: 42.5, isPaid: true }
const order = {
  id: 'order-123',
  customer: { name: 'Ada', mail: 'ada@example.com', groups: ['a', 'b', 'c'] },
  items: Array.from({ length: 20 }, (_, i) => ({ sku: `sku-${i}`, count: i, price: i * 1.5, note: null })),
}
const table = {
  rows: Array.from({ length: 2_000 }, (_, i) => ({
    id: i,
    name: `name ${i}`,
    flags: [true, false],
    nested: { a: 1, b: 'two' },
  })),
}

/** What plain JSON pays for the values that are none: encoding beside JSON.stringify, decoding beside JSON.parse, of the same data. */
export async function benchValues(): Promise<void> {
  for (const [name, value, times] of [
    ['a small object', small, 200_000],
    ['an order of 20 items', order, 20_000],
    ['2,000 rows', table, 200],
  ] as const) {
    const text = JSON.stringify(value)
    const micros = inTurns(times, [
      () => encode(value, 'it'),
      () => JSON.stringify(value),
      () => decode(value as unknown as Json),
      () => JSON.parse(text),
    ])
    const [encoding, stringify, decoding, parse] = micros as [number, number, number, number]
    const figures = {
      encodeVsStringify: ratio(encoding, stringify),
      decodeVsParse: ratio(decoding, parse),
      stringifyMicros: Number(stringify.toFixed(2)),
    }
    report('values', name, figures, { encodeVsStringify: 1.1, decodeVsParse: 1.1 })
  }
}

const ratio = (a: number, b: number): number => Number((a / b).toFixed(2))

/** The best of five rounds each, one after the other, so that all of them meet the same machine. */
function inTurns(times: number, works: (() => unknown)[]): number[] {
  const best = works.map(() => Number.POSITIVE_INFINITY)
  for (let round = 0; round < 6; round++) {
    for (const [i, work] of works.entries()) {
      const start = performance.now()
      for (let n = 0; n < times; n++) work()
      // The first round warms up.
      if (round > 0) best[i] = Math.min(best[i]!, ((performance.now() - start) * 1_000) / times)
    }
  }
  return best
}
