import { useState } from 'preact/hooks'
import { runsInWords } from '../../sdk/views/limit-words.ts'
import { stateInWords } from '../../sdk/views/turn.ts'
import { listPauses, type PauseScope, type PauseView, pauseRuns } from '../api.ts'
import { always, useLoaded } from '../live/use-loaded.ts'
import { useLooking } from '../live/use-looking.ts'
import { Shown } from '../parts/states.tsx'
import { Ago } from '../parts/time.tsx'
import { href } from '../route.ts'
import { Confirm } from '../run/confirm.tsx'
import { config } from '../settings.ts'
import { ResumeDialog } from './resume.tsx'

const GAP_MS = 500
const ALL: PauseScope = { all: true }

/** The pauses, at the top: they explain why runs do not move. */
export function Pauses() {
  const loaded = useLoaded('pauses', listPauses, always, GAP_MS)
  useLooking(loaded.reload)
  const [isAsking, ask] = useState(false)
  return (
    <section class="card pauses" aria-label="Pauses">
      <Shown loaded={loaded}>
        {(pauses) => {
          const isAll = pauses.some(({ scope, perSecond }) => 'all' in scope && perSecond === undefined)
          return (
            <>
              {pauses.length === 0 && <p class="muted">Nothing is paused.</p>}
              <ul class="plain">
                {pauses.map((pause) => (
                  <Pause key={JSON.stringify(pause.scope)} pause={pause} />
                ))}
              </ul>
              {!isAll && (
                <button type="button" class="grave" disabled={config.value.isReadOnly} onClick={() => ask(true)}>
                  Pause everything
                </button>
              )}
            </>
          )
        }}
      </Shown>
      {isAsking && (
        <Confirm
          title="Pause everything"
          verb="Pause everything"
          isGrave
          text="Nothing new begins, in any workflow: new runs queue, sleeping ones stay due, running steps end. It holds until it is resumed, deployments included."
          onDo={async (key) => void (await pauseRuns(ALL, key))}
          onClose={() => ask(false)}
        />
      )}
    </section>
  )
}

function Pause({ pause }: { pause: PauseView }) {
  const { scope, since, perSecond, waiting } = pause
  const [isOpen, open] = useState(false)
  const isOver = perSecond !== undefined
  const title = isOver ? 'Change the rate' : 'Resume'
  return (
    <li>
      <span class={`status ${isOver ? 'is-running' : 'is-stuck'}`}>
        <span>
          <Scope scope={scope} /> {stateInWords(pause)}
        </span>
      </span>
      <span class="muted">
        paused <Ago at={since} />
        {waiting && `, ${runsInWords(waiting)} queued`}
      </span>
      <button
        type="button"
        class={isOver ? '' : 'primary'}
        disabled={config.value.isReadOnly}
        onClick={() => open(true)}
        aria-label={`${title}${isOver ? ' of' : ''} ${nameOf(scope)}`}
      >
        {title}
      </button>
      {isOpen && <ResumeDialog scope={scope} name={nameOf(scope)} perSecond={perSecond} onClose={() => open(false)} />}
    </li>
  )
}

const nameOf = (scope: PauseScope): string =>
  'all' in scope ? 'everything' : 'workflow' in scope ? `workflow ${scope.workflow}` : `run ${scope.run}`

function Scope({ scope }: { scope: PauseScope }) {
  if ('all' in scope) return <>Everything</>
  if ('workflow' in scope)
    return (
      <>
        Workflow <a href={href(['runs'], { workflow: scope.workflow, status: 'queued' })}>{scope.workflow}</a>
      </>
    )
  return (
    <>
      Run{' '}
      <a class="mono" href={href(['runs', scope.run])}>
        {scope.run}
      </a>
    </>
  )
}
