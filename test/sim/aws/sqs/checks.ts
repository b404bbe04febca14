import { InvalidMessageContents, SQSServiceException } from '@aws-sdk/client-sqs'
import { METADATA } from '../errors.ts'

const LONGEST_DELAY_S = 900
/** Of a message, and of all messages of a batch together. */
export const MOST_BYTES = 1_048_576
export const LONGEST_HIDING_S = 43_200
export const LONGEST_WAIT_S = 20
export const MOST_RECEIVED = 10

/** Everything but XML 1.0's characters, which is all that SQS takes. */
const REFUSED = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u

/** The body as it arrives: the SDK sends UTF-8, in which half a surrogate pair cannot be written. */
export function checkedBody(body: string | undefined): string {
  if (!body) throw failure('MissingParameter', 'The request must contain the parameter MessageBody.')
  const sent = body.toWellFormed()
  if (Buffer.byteLength(sent) > MOST_BYTES)
    throw invalidValue(`One or more parameters are invalid. Reason: Message must be shorter than ${MOST_BYTES} bytes.`)
  if (REFUSED.test(sent)) {
    const message =
      'Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF'
    throw new InvalidMessageContents({ message, $metadata: METADATA })
  }
  return sent
}

export function checkedDelay(seconds: number): number {
  return checkedNumber('DelaySeconds', seconds, 0, LONGEST_DELAY_S)
}

export function checkedNumber(parameter: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw invalidValue(
    `Value ${value} for parameter ${parameter} is invalid. Reason: Must be between ${least} and ${most}, if provided.`,
  )
}

export function invalidValue(message: string): SQSServiceException {
  return failure('InvalidParameterValue', message)
}

function failure(name: string, message: string): SQSServiceException {
  return new SQSServiceException({ name, $fault: 'client', message, $metadata: METADATA })
}
