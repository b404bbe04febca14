import { expect, it, vi } from 'vitest'
import { loggerOf } from '../../functions/users-logger.ts'

const powertools = () => ({ debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn(), appendKeys: vi.fn() })

it('lines go through the Logger of Powertools that the entry exports, with what they say of their run as keys', () => {
  const logger = powertools()
  const log = loggerOf({ greet: { name: 'greet' }, logger })!
  log('warn', 'the parcel is late', { runId: 'r-1', step: 'send', attempt: 2 })
  expect(logger.warn).toHaveBeenCalledExactlyOnceWith('the parcel is late', { runId: 'r-1', step: 'send', attempt: 2 })
  // Keys that stay would be those of the next run too.
  expect(logger.appendKeys).not.toHaveBeenCalled()
})

it('what is no such Logger is left alone', () => {
  const { appendKeys: _, ...console } = powertools()
  expect(loggerOf({ console, nothing: null, text: 'x' })).toBeUndefined()
})
