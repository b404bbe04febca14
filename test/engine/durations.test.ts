import { describe, expect, it } from 'vitest'
import {
  type Duration,
  LONG_WAIT_MS,
  MAX_WAIT_MS,
  milliseconds,
  millisecondsOrZero,
  pointInTime,
} from '../../sdk/base/duration.ts'
import { InvalidInputError } from '../../sdk/base/errors.ts'

const DAY = 86_400_000
const NOW = Date.parse('2026-01-01T00:00:00Z')

describe('a duration', () => {
  it.each<[Duration, number]>([
    [250, 250],
    [1.4, 1],
    ['7ms', 7],
    ['30s', 30_000],
    ['15m', 900_000],
    ['24h', DAY],
    ['7d', 7 * DAY],
    ['2w', 14 * DAY],
    ['1.5h', 5_400_000],
    ['12.25s', 12_250],
    ['1h 30m', 5_400_000],
    ['1h30m', 5_400_000],
    [' 1 h  30 m ' as Duration, 5_400_000],
    ['2h -30m', 5_400_000],
    [{ days: 1, hours: 1, minutes: 1, seconds: 1, milliseconds: 1 }, DAY + 3_661_001],
    ['365d', MAX_WAIT_MS],
  ])('%j is %d ms, also the second time', (duration, ms) => {
    expect(milliseconds(duration, 'x')).toBe(ms)
    expect(milliseconds(duration, 'x')).toBe(ms)
  })

  it.each([
    '',
    '30',
    's',
    '30 x',
    'x30s',
    '30s x',
    '1.s',
    '.5s',
    '1..5s',
    '1 month',
    null,
    undefined,
    true,
    { years: 1 },
    { hours: '1' },
  ])('%j is none', (given) => {
    expect(() => milliseconds(given as Duration, 'the sleep')).toThrow(/^the sleep: .* is not a duration; write '30s'/)
    expect(() => milliseconds(given as Duration, 'the sleep')).toThrow(InvalidInputError)
  })

  it('must be positive, or not negative where none at all may be meant', () => {
    for (const given of [0, '0s', -1, '-1s', 0.4] as const)
      expect(() => milliseconds(given, 'the sleep')).toThrow('the sleep: a duration must be positive')
    expect(millisecondsOrZero(0, 'x')).toBe(0)
    expect(millisecondsOrZero('30s', 'x')).toBe(30_000)
    expect(() => millisecondsOrZero(-1, 'the sleep')).toThrow('the sleep: a duration must not be negative, got -1')
  })

  it('is finite and at most 365 days', () => {
    for (const given of [Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => milliseconds(given, 'the sleep')).toThrow('is not a duration; see what it was worked out from')
    expect(milliseconds(MAX_WAIT_MS, 'x')).toBe(365 * DAY)
    expect(() => milliseconds(MAX_WAIT_MS + 1, 'the sleep')).toThrow('at most 365 days')
    expect(LONG_WAIT_MS).toBe(30 * DAY)
  })

  it('is shown in the error as it was given', () => {
    expect(() => milliseconds('soon' as Duration, 'x')).toThrow("'soon' is not a duration")
    expect(() => milliseconds({ hours: -1 }, 'x')).toThrow('got {"hours":-1}')
  })
})

describe('a point in time', () => {
  it('is a Date, a number or an ISO string, passed or to come', () => {
    for (const given of [new Date(NOW - 5), NOW - 5, new Date(NOW - 5).toISOString()])
      expect(pointInTime(given, NOW, 'x')).toBe(NOW - 5)
  })

  it('is at most 365 days away', () => {
    expect(pointInTime(NOW + MAX_WAIT_MS, NOW, 'x')).toBe(NOW + MAX_WAIT_MS)
    expect(() => pointInTime(NOW + MAX_WAIT_MS + 1, NOW, 'the sleep')).toThrow(
      'the sleep: 2027-01-01T00:00:00.001Z is more than 365 days away',
    )
  })

  it('is a date', () => {
    expect(() => pointInTime('tomorrow', NOW, 'the sleep')).toThrow("the sleep: 'tomorrow' is not a point in time")
    expect(() => pointInTime(new Date('x'), NOW, 'x')).toThrow('an invalid Date is not a point in time')
    expect(() => pointInTime(Number.NaN, NOW, 'x')).toThrow('NaN is not a point in time')
  })
})
