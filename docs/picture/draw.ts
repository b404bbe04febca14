import { type Span, spansOf } from './ansi.ts'

export interface Line {
  /** When it appeared, in milliseconds from the beginning. */
  at: number
  /** With terminal codes. */
  text: string
}

const COLUMN = 7.8
const ROW = 19
const MARGIN = 20
/** The end stays for a while before the animation repeats. */
const HOLD_MS = 6_000

const STYLE = `text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d8dee9; white-space: pre }
.bold { font-weight: 700; fill: #fff } .dim { fill: #8a94a6 } .red { fill: #ff7b72 } .green { fill: #7ee787 } .yellow { fill: #e3b341 } .cyan { fill: #79c0ff }`

/** An animation in CSS alone, which plays in an <img> too. With reduced motion it shows the end. */
export function drawing(lines: Line[], title: string): string {
  const width = Math.ceil(2 * MARGIN + COLUMN * Math.max(...lines.map(({ text }) => plain(text).length)))
  const height = 2 * MARGIN + ROW * lines.length
  const total = lines.at(-1)!.at + HOLD_MS
  const moments = [...new Set(lines.map(({ at }) => at))]
  const appears = moments.map(
    (at, i) => `@keyframes at${i} { 0% { opacity: 0 } ${((at / total) * 100).toFixed(2)}%, 100% { opacity: 1 } }`,
  )
  const plays = moments.map((_, i) => `.at${i} { animation: at${i} ${(total / 1000).toFixed(1)}s step-end infinite }`)
  const rows = lines.map(
    ({ at, text }, row) =>
      `<text class="at${moments.indexOf(at)}" y="${MARGIN + ROW * (row + 0.75)}">${placed(spansOf(text))}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escaped(title)}</title>
<style>
${STYLE}
@media (prefers-reduced-motion: no-preference) {
${[...appears, ...plays].join('\n')}
}
</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${rows.filter((row) => !row.includes('"></text>')).join('\n')}
</svg>
`
}

/** Each character has a column of its own, because some fonts give marks another width. */
function placed(spans: Span[]): string {
  let column = 0
  const drawn = spans.map(({ text, styles }) => {
    const x = (MARGIN + COLUMN * column).toFixed(1)
    column += text.length
    return `<tspan x="${x}"${styles.length === 0 ? '' : ` class="${styles.join(' ')}"`}>${escaped(text)}</tspan>`
  })
  return drawn.join('')
}

function plain(text: string): string {
  return spansOf(text)
    .map((span) => span.text)
    .join('')
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
