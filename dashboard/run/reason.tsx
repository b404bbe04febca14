import { useState } from 'preact/hooks'
import type { Remedy, Why } from '../../sdk/views/why.ts'
import type { ShownRun } from '../api.ts'
import { absolute, duration, relative } from '../format.ts'
import { Copy } from '../parts/copy.tsx'
import { now } from '../parts/time.tsx'
import { href } from '../route.ts'
import { config } from '../settings.ts'
import { ActionDialog, type ActionName } from './actions.tsx'

/** Why the run does not move, above everything else. */
export function Reason({ run, why }: { run: ShownRun; why: Why }) {
  const isTrouble = run.status === 'failed' || run.status === 'stuck'
  return (
    <section class={`reason is-${run.status}`} aria-label="Why it stands where it stands">
      <p class="reason-line">
        {isTrouble && <span class="unseen">Trouble: </span>}It {why.reason}
      </p>
      {why.waits.length > 0 && (
        <ul class="waits">
          {why.waits.map(({ id, kind, what, since, until, overdueMs, evidence }) => (
            <li key={`${kind}${id}`}>
              {why.waits.length > 1 && <span>{what}</span>}
              {(since ?? until) !== undefined && (
                <span class="muted">
                  {since !== undefined && <span title={absolute(since)}>for {duration(now.value - since)}</span>}
                  {until !== undefined && (
                    <span title={absolute(until)}>
                      {since !== undefined && ', '}
                      {until > now.value ? `ends ${relative(until, now.value)}` : 'due now'}
                    </span>
                  )}
                  {overdueMs !== undefined && <strong> overdue by {duration(overdueMs)}</strong>}
                </span>
              )}
              {evidence.map((each) => (
                <span key={each} class="evidence">
                  {each}
                </span>
              ))}
            </li>
          ))}
        </ul>
      )}
      {why.remedies.length > 0 && (
        <div class="remedies">
          {why.remedies.map((remedy) => (
            <RemedyButton key={remedy.what} run={run} remedy={remedy} />
          ))}
        </div>
      )}
    </section>
  )
}

/** The page's action for a shell command, by its first word. */
const AS_ACTION: Record<string, ActionName> = { wake: 'wake', retry: 'retry', signal: 'signal', callbacks: 'answer' }

/** `overwinter limits set 'my limit' --rate …` is about `my limit`. */
const limitIn = (command: string): string => /^\S+ limits \w+ ('?)(.+?)\1(?= --|$)/.exec(command)?.[2] ?? ''

function RemedyButton({ run, remedy: { what, command } }: { run: ShownRun; remedy: Remedy }) {
  const [isOpen, open] = useState(false)
  const [, verb = '', first, second] = command?.split(' ') ?? []
  const action = AS_ACTION[verb]
  if (verb === 'why' && first) return <a href={href(['runs', first])}>{what}</a>
  if (verb === 'resume') return <a href={href(['limits'])}>{what}</a>
  if (verb === 'limits') return <a href={href(['limits', limitIn(command!)])}>{what}</a>
  if (verb === 'workers') return <a href={href(['workers'])}>{what}</a>
  // Its reason is too long for a button.
  if (verb === 'rerun' && !config.value.isReadOnly)
    return (
      <p class="remedy">
        {what}{' '}
        <button type="button" class="primary" onClick={() => open(true)}>
          Rerun
        </button>
        {isOpen && <ActionDialog action="rerun" run={run} onClose={() => open(false)} />}
      </p>
    )
  if (action && !config.value.isReadOnly)
    return (
      <>
        <button type="button" class="primary" onClick={() => open(true)}>
          {what[0]!.toUpperCase() + what.slice(1)}
        </button>
        {isOpen && (
          <ActionDialog
            action={action}
            run={run}
            onClose={() => open(false)}
            {...(verb === 'signal' && second && { about: second })}
          />
        )}
      </>
    )
  return (
    <p class="remedy">
      {what}
      {command && (
        <>
          {' '}
          <code>{command}</code>
          <Copy text={command} what="the command" />
        </>
      )}
    </p>
  )
}
