export interface Problem {
  /** A JSON path such as `$.items[2].price`. */
  path: string
  message: string
}

const MOST_LISTED = 100
const LONGEST_TEXT = 1_000

/**
 * What a message lists of them: a body of megabytes must not be answered with more megabytes. Applying it again
 * changes nothing.
 */
export function listed(problems: readonly Problem[]): readonly Problem[] {
  const shown = problems.slice(0, problems.length > MOST_LISTED ? MOST_LISTED - 1 : MOST_LISTED)
  const rest = problems.length - shown.length
  const short = shown.map((problem) => ({ ...problem, path: cut(problem.path), message: cut(problem.message) }))
  return rest === 0 ? short : [...short, { path: '$', message: `and ${rest} more` }]
}

const cut = (text: string): string => (text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT - 1)}…` : text)
