import { afterEach, expect, it, vi } from 'vitest'
import { limit, schedule, workflow } from '../../sdk/index.ts'

/** Workflow code is loaded at every cold start; docs/design.md, "How a function starts". */

afterEach(() => vi.restoreAllMocks())

const nap = workflow('nap', async () => {})

it('a limit is defined without a stack that anything has read', () => {
  const { prepareStackTrace } = Error
  const prepare = vi.fn((_error: Error, sites: NodeJS.CallSite[]) => sites.join('\n'))
  Error.prepareStackTrace = prepare
  try {
    limit('at load', { concurrency: 2 })
    limit('at load', { concurrency: 2 })
    expect(prepare).not.toHaveBeenCalled()
  } finally {
    Error.prepareStackTrace = prepareStackTrace
  }
})

it('two limits of one name and different values are refused, with the places of both', () => {
  limit('twice at load', { concurrency: 2 })
  const here = String.raw`at-load\.test\.ts:\d+:\d+`
  expect(() => limit('twice at load', { concurrency: 3 })).toThrow(
    new RegExp(
      `two limits are named 'twice at load' and have different values: .+\\(.*${here}.*\\), and .+\\(.*${here}`,
    ),
  )
})

it.each(['UTC', 'Europe/Berlin'])('a schedule in %s is defined without formatting a date', (timezone) => {
  const format = vi.spyOn(Intl, 'DateTimeFormat')
  schedule('nightly', { cron: '30 2 * * *', timezone }, nap)
  expect(format).not.toHaveBeenCalled()
})

it.each([
  ['US/Eastern', '0 9 * * *', undefined],
  ['Europe/Berln', '0 9 * * *', "'0 9 * * *' in time zone 'Europe/Berln' does not work: "],
  ['Europe/Berlin', '0 0 30 2 *', "'0 0 30 2 *' in time zone 'Europe/Berlin' does not work: it would never run"],
  ['Europe/Berlin', '61 * * * *', 'does not work: CronPattern: Invalid value for minute: 61'],
])('a schedule in %s at %s is checked when it is defined', (timezone, cron, problem) => {
  const define = () => schedule('checked', { cron, timezone }, nap)
  if (problem === undefined) expect(define).not.toThrow()
  else expect(define).toThrow(problem)
})
