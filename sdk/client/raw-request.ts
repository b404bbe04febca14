import type { Schema } from '../base/schema.ts'
import type { RawRequest } from '../context.ts'

/** By hand, so that code without raw callbacks loads nothing for them. */
export const RAW_REQUEST: Schema<unknown, RawRequest> = {
  '~standard': {
    version: 1,
    vendor: 'overwinter',
    validate: (value) =>
      isRawRequest(value)
        ? { value }
        : { issues: [{ message: 'must be { headers, body }, as a raw callback gets them' }] },
  },
}

function isRawRequest(value: unknown): value is RawRequest {
  if (typeof value !== 'object' || value === null) return false
  const { headers, body, isBase64, ...rest } = value as Partial<RawRequest>
  const areHeaders =
    typeof headers === 'object' && headers !== null && Object.values(headers).every((each) => typeof each === 'string')
  return (
    areHeaders &&
    typeof body === 'string' &&
    (isBase64 === undefined || isBase64 === true) &&
    Object.keys(rest).length === 0
  )
}
