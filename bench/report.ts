/** One line per measurement, with the goal beside the figure where there is one. All goals are "at most" unless they say otherwise. */
export type Figures = Record<string, number | string>

export interface Line {
  suite: string
  name: string
  figures: Figures
  goals: Record<string, number>
  atLeast?: boolean
  met: boolean
}

const lines: Line[] = []
const asJson = process.argv.includes('--json')

export function report(
  suite: string,
  name: string,
  figures: Figures,
  goals: Record<string, number> = {},
  options: { atLeast?: boolean } = {},
): void {
  const met = Object.entries(goals).every(([key, goal]) =>
    options.atLeast ? Number(figures[key]) >= goal : Number(figures[key]) <= goal,
  )
  lines.push({ suite, name, figures, goals, met, ...(options.atLeast && { atLeast: true }) })
  if (asJson) return
  const shown = Object.entries(figures).map(([key, value]) => {
    const goal = goals[key]
    return `${key} ${value}${goal === undefined ? '' : ` (goal ${options.atLeast ? '≥' : '≤'} ${goal})`}`
  })
  console.log(`${Object.keys(goals).length === 0 ? ' ' : met ? '✓' : '✗'} ${suite}: ${name}: ${shown.join(', ')}`)
}

/** Exits with 1 when a goal was missed, so that a script can tell. */
export function finish(): void {
  if (asJson) console.log(JSON.stringify({ lines }, null, 1))
  const missed = lines.filter(({ met }) => !met)
  if (missed.length > 0 && !asJson) console.log(`${missed.length} goals missed`)
  process.exitCode = missed.length === 0 ? 0 : 1
}
