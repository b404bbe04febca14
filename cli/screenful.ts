import { stripVTControlCharacters } from 'node:util'

/** As much of a text as a terminal shows at once, from its top; and how many lines were omitted. */
export function screenful(text: string, { rows, columns = 80 }: { rows?: number; columns?: number }): string {
  const lines = text.split('\n')
  const heights = lines.map((line) => Math.max(1, Math.ceil(stripVTControlCharacters(line).length / columns)))
  // The cursor takes a line of its own.
  const room = rows === undefined ? Number.POSITIVE_INFINITY : rows - 1
  if (heights.reduce((sum, height) => sum + height, 0) <= room) return text
  let left = room - 1
  const fits = heights.findIndex((height) => (left -= height) < 0)
  return [...lines.slice(0, fits), `… and ${lines.length - fits} more`].join('\n')
}
