export interface Span {
  text: string
  /** The names of its terminal styles: `bold`, `red`. */
  styles: string[]
}

const ON: Record<string, string> = { 1: 'bold', 2: 'dim', 31: 'red', 32: 'green', 33: 'yellow', 36: 'cyan' }
const OFF: Record<string, RegExp> = { 0: /./, 22: /^(bold|dim)$/, 39: /^(red|green|yellow|cyan)$/ }
const ESCAPE = '\u001b['

/** Parses a terminal's line. An unknown code is an error, because the picture would be wrong. */
export function spansOf(line: string): Span[] {
  const [first, ...coded] = line.split(ESCAPE)
  const spans: Span[] = [{ text: first!, styles: [] }]
  let styles: string[] = []
  for (const part of coded) {
    const [, code, text] = /^(\d+)m(.*)$/.exec(part) ?? []
    const on = ON[code!]
    const off = OFF[code!]
    if (on) styles = [...styles, on]
    else if (off) styles = styles.filter((style) => !off.test(style))
    else throw new Error(`a terminal code that the picture does not know: ${JSON.stringify(part)}`)
    spans.push({ text: text!, styles })
  }
  return spans.filter(({ text }) => text !== '')
}
