import { styleText } from 'node:util'

/** Columns as wide as what is in them. */
export function textTable(headings: string[], rows: string[][]): string {
  const widths = headings.map((heading, column) => Math.max(heading.length, ...rows.map((row) => row[column]!.length)))
  const line = (cells: string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd()
  return [styleText('dim', line(headings)), ...rows.map(line)].join('\n')
}
