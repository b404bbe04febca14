/** What is paused: everything, the runs of a workflow, or one run. */
export type PauseScope = { all: true } | { workflow: string } | { run: string }

/**
 * A pause is a limit that grants nothing, and that every run in its scope meets: when it is claimed, and before its
 * next step. A resume gives it a rate; once its queue is empty it is deleted. Each pause has a queue of its own, so
 * a run that one pause has released is stopped by the next.
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
