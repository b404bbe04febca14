import type { ProblemJson } from '../sdk/http-api/errors.ts'

/** A refusal of the server, in its own words. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly status: number
  readonly title: string
  readonly problems: NonNullable<ProblemJson['problems']>
  readonly known: readonly string[]

  constructor(status: number, { title, detail, problems = [], known = [] }: Partial<ProblemJson>) {
    super(detail ?? `the server answered with ${status}`)
    this.status = status
    this.title = title ?? 'The server refused'
    this.problems = problems
    this.known = known
  }

  /** What the person at the page can do about it. */
  get advice(): string | undefined {
    if (this.status === 401)
      return (
        'The server needs credentials. Open the dashboard with `overwinter ui --token …`, or with AWS ' +
        'credentials in the shell.'
      )
    if (this.status === 403)
      return (
        'The credentials of this page do not allow this. Use a token or a role with the right that the ' +
        'sentence above names.'
      )
    if (this.status === 429)
      return 'The server is asked too often. The page tries again by itself; close other windows of it if this goes on.'
    return undefined
  }
}

/** The server did not answer. */
export class Unreachable extends Error {
  override name = 'Unreachable'
}
