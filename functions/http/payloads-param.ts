import type { Context } from 'hono'
import { Checks } from './checks.ts'

export const PAYLOADS_PARAM = {
  payloads: {
    description:
      '`omit` leaves out what users pass around: inputs, outputs, results, signals. `omitted` names what was left out.',
    schema: { enum: ['omit'] },
  },
}

export function readPayloads(c: Context): 'omit' | undefined {
  const payloads = c.req.query('payloads')
  const checks = new Checks()
  checks.require('?payloads', payloads === undefined || payloads === 'omit', "must be 'omit', or not be there")
  checks.throwIfAny()
  return payloads as 'omit' | undefined
}
