import { describe, expect, it } from 'vitest'
import { decide } from '../../sdk/flow/coalescing/coalescing.ts'

const starts = { key: 'a', first: 9, all: true as const, series: 'run', size: 4, slot: 2 }
const seen = { starts, createdAt: 0, filled: [1, 2, 3].map((slot) => ({ slot, at: 0 })) }
const times = { batch: { waitMs: 1_000, size: 4 } }

describe('the last start that a batch has to expect', () => {
  it('is the one that was counted last', () => {
    expect(decide({ ...seen, counted: 11 }, times, 1_000)).toEqual({ endAt: 3 })
  })

  it('fills the batch, where starts of a later batch were counted', () => {
    expect(decide({ ...seen, counted: 13 }, times, 1_000)).toEqual({ last: 4 })
  })

  it('may fill the batch, where a later batch has ended the series: a sender may be about to fill its slot', () => {
    expect(decide(seen, times, 1_000)).toEqual({ last: 4 })
    expect(decide({ ...seen, saidToBeLast: 3 }, times, 1_000)).toEqual({ last: 4 })
  })
})
