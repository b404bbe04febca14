import { describe, expect, it } from 'vitest'
import { cutAxis } from '../../dashboard/run/axis.ts'
import type { Row, Timeline } from '../../sdk/views/timeline.ts'

const DAY = 86_400_000
const view = (from: number, rows: Partial<Row>[]): Timeline =>
  ({ from, visits: [], rows: rows.map((row) => ({ bars: [], marks: [], ...row })) }) as unknown as Timeline

describe('the axis of a run with almost no work', () => {
  it('goes from its start at the left to its end at the right', () => {
    const step = { from: 0, to: 0, bars: [{ kind: 'attempt', from: 0, to: 0, outcome: 'done' }] } as Partial<Row>
    const axis = cutAxis(view(0, [step, { from: 0, to: 90 * DAY }, { from: 90 * DAY, to: 90 * DAY }]), 90 * DAY)
    expect([axis.at(0), axis.at(90 * DAY)]).toEqual([0, 1])
    expect([axis.timeAt(0), axis.timeAt(0.5), axis.timeAt(1)]).toEqual([0, 45 * DAY, 90 * DAY])
  })

  it('that took no time at all still goes forward', () => {
    const axis = cutAxis(view(5, [{ from: 5, to: 5 }]), 5)
    expect(axis.timeAt(1)).toBeGreaterThan(axis.timeAt(0))
  })
})
