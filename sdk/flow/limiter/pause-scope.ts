/** What is paused: everything, the runs of a workflow, or one run. */
export type PauseScope = { all: true } | { workflow: string } | { run: string }

/**
 * A pause is a limit that lets nobody in, and that every run it is about comes to: when it is claimed, and before its next step. To resume is to give it a rate; when
 * nobody is left in its line it is gone. Each pause has a line of its own, so whoever was let through one is stopped by the next.
 */
const PREFIX = 'pause:'
export const isPause = (limit: string): boolean => limit.startsWith(PREFIX)

export const nameOf = (scope: PauseScope): string =>
  'all' in scope
    ? `${PREFIX}all`
    : 'workflow' in scope
      ? `${PREFIX}workflow:${scope.workflow}`
      : `${PREFIX}run:${scope.run}`

export function scopeOf(name: string): PauseScope {
  const [, kind, ...rest] = name.split(':')
  const of = rest.join(':')
  return kind === 'all' ? { all: true } : kind === 'workflow' ? { workflow: of } : { run: of }
}
