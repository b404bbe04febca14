/**
 * The size of an item as DynamoDB counts it: names and values in UTF-8, numbers at about a byte per two digits, and a
 * little for every list and map.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
export function itemSize(item: Record<string, unknown>): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueSize(value), 0)
}

function valueSize(value: unknown): number {
  if (value === undefined || value === null || typeof value === 'boolean') return 1
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value === 'number') return Math.ceil(significantDigits(value) / 2) + 1 + (value < 0 ? 1 : 0)
  if (value instanceof Uint8Array) return value.byteLength
  if (Array.isArray(value)) return 3 + value.reduce((sum: number, inner) => sum + valueSize(inner) + 1, 0)
  return (
    3 +
    Object.entries(value as Record<string, unknown>).reduce(
      (sum, [name, inner]) => sum + Buffer.byteLength(name) + valueSize(inner) + 1,
      0,
    )
  )
}

/** Zeros at either end are free. */
function significantDigits(value: number): number {
  return String(Math.abs(value))
    .replace('.', '')
    .replace(/^0+|0+$/g, '').length
}
