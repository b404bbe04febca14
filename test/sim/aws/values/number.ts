import { invalid } from '../errors.ts'

/** DynamoDB's numbers: decimal, up to 38 digits, from 1E-130 to 9.99…E+125. A value is `mantissa` × 10^`exponent`. */
interface Decimal {
  mantissa: bigint
  exponent: number
}

const MOST_DIGITS = 38
const LARGEST_EXPONENT = 125
const SMALLEST_EXPONENT = -130
const NUMBER = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/
/** Whole numbers that a double holds exactly, written as DynamoDB writes them: nearly all there are. */
const PLAIN = /^(?:0|-?[1-9]\d{0,14})$/

/** The one way in which DynamoDB writes a number. */
export function normalNumber(text: string): string {
  return PLAIN.test(text) ? text : write(parse(text))
}

export function addNumbers(a: string, b: string): string {
  if (PLAIN.test(a) && PLAIN.test(b)) return String(Number(a) + Number(b))
  const [left, right, exponent] = aligned(parse(a), parse(b))
  return write(checked(trimmed({ mantissa: left + right, exponent })))
}

export function negateNumber(text: string): string {
  if (text === '0') return text
  return text.startsWith('-') ? text.slice(1) : `-${text}`
}

/** Of normal numbers. */
export function compareNumbers(a: string, b: string): number {
  if (a === b) return 0
  if (PLAIN.test(a) && PLAIN.test(b)) return Number(a) - Number(b)
  const [left, right] = aligned(parse(a), parse(b))
  return left < right ? -1 : left > right ? 1 : 0
}

/** Its digits, two to a byte, an even exponent and a byte for the rest; one more below zero. */
export function numberSize(text: string): number {
  if (text === '0') return 1
  const digits = text.replace(/[-.]/g, '').replace(/^0+|0+$/g, '').length
  return Math.ceil(digits / 2) + 1 + (text.startsWith('-') ? 1 : 0)
}

function parse(text: string): Decimal {
  const [, sign, whole = '', fraction = '', power = '0'] = NUMBER.exec(text) ?? []
  if (sign === undefined || whole + fraction === '') throw invalid('A value provided cannot be converted into a number')
  const mantissa = BigInt(whole + fraction)
  return checked(trimmed({ mantissa: sign === '-' ? -mantissa : mantissa, exponent: Number(power) - fraction.length }))
}

function trimmed({ mantissa, exponent }: Decimal): Decimal {
  if (mantissa === 0n) return { mantissa, exponent: 0 }
  const digits = mantissa.toString()
  const zeros = digits.length - digits.replace(/0+$/, '').length
  return { mantissa: BigInt(digits.slice(0, digits.length - zeros)), exponent: exponent + zeros }
}

function checked(decimal: Decimal): Decimal {
  const digits = digitsOf(decimal).length
  const magnitude = decimal.exponent + digits - 1
  if (decimal.mantissa === 0n) return decimal
  if (magnitude > LARGEST_EXPONENT)
    throw invalid('Number overflow. Attempting to store a number with magnitude larger than supported range')
  if (magnitude < SMALLEST_EXPONENT)
    throw invalid('Number underflow. Attempting to store a number with magnitude smaller than supported range')
  if (digits > MOST_DIGITS) throw invalid('DynamoDB only supports precision up to 38 digits')
  return decimal
}

function aligned(a: Decimal, b: Decimal): [bigint, bigint, number] {
  const exponent = Math.min(a.exponent, b.exponent)
  return [
    a.mantissa * 10n ** BigInt(a.exponent - exponent),
    b.mantissa * 10n ** BigInt(b.exponent - exponent),
    exponent,
  ]
}

function write(decimal: Decimal): string {
  const { mantissa, exponent } = decimal
  const digits = digitsOf(decimal)
  const sign = mantissa < 0n ? '-' : ''
  if (exponent >= 0) return `${sign}${digits}${mantissa === 0n ? '' : '0'.repeat(exponent)}`
  const padded = digits.padStart(1 - exponent, '0')
  return `${sign}${padded.slice(0, exponent)}.${padded.slice(exponent)}`
}

function digitsOf({ mantissa }: Decimal): string {
  return (mantissa < 0n ? -mantissa : mantissa).toString()
}
