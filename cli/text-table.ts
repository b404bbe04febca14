import { inLine, paint } from './terminal.ts'

/** Columns as wide as their content. */
export function textTable(headings: string[], given: string[][]): string {
  const rows = given.map((row) => row.map(inLine))
  const widths = headings.map((heading, column) => Math.max(heading.length, ...rows.map((row) => row[column]!.length)))
  const line = (cells: string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd()
  return [paint('dim', line(headings)), ...rows.map(line)].join('\n')
}
