import { useState } from 'preact/hooks'
import { asWritten, runIdAsWritten } from '../../sdk/views/as-written.ts'
import {
  countInWords,
  damageOf,
  inForceInWords,
  keysInWords,
  specInWords,
  takenBy,
  totalsOf,
} from '../../sdk/views/limit-words.ts'
import { type LimitView, steerLimit } from '../api.ts'
import { duration } from '../format.ts'
import { Ago } from '../parts/time.tsx'
import { href } from '../route.ts'
import { Confirm } from '../run/confirm.tsx'
import { config } from '../settings.ts'
import { SetLimit } from './set-limit.tsx'

type Action = 'set' | 'pause' | 'resume' | 'reset'

/**
 * A limit: its numbers, what is inside, its queue, and its actions. `isAlone`: the page has its name as the
 * title.
 */
export function LimitCard({ limit, isAlone = false }: { limit: LimitView; isAlone?: boolean }) {
  const { name, code, isSet, paused, gates, hasMore } = limit
  const { inside, waiting } = totalsOf(limit)
  return (
    <section class="card limit" aria-label={`Limit ${name}`}>
      <div class="limit-head">
        {!isAlone && (
          <h2 class="mono">
            <a href={href(['limits', name])}>{name}</a>
          </h2>
        )}
        <p>
          <strong>{inForceInWords(limit)}</strong>
          {isSet && <span class="muted"> set here; the code has {specInWords(code)}</span>}
        </p>
        {paused && <span class="status is-stuck">paused: admits nothing</span>}
        {damageOf(limit).map((problem) => (
          <p key={problem} class="trouble">
            Cannot be read: {problem}. Put it right, or reset the limit to drop it.
          </p>
        ))}
        <p class="muted number">
          {countInWords(inside)} inside{keysInWords(limit)}, {countInWords(waiting)} waiting
        </p>
        <Steering limit={limit} />
      </div>
      {gates.length > 0 && (
        <table class="table">
          <thead>
            <tr>
              {['Key', 'Inside', 'Queued', 'Next', 'Stay'].map((title) => (
                <th key={title}>{title}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {gates.map((gate) => (
              <tr key={gate.key}>
                <td>
                  {gate.key === undefined ? (
                    <span class="muted cut">no key</span>
                  ) : (
                    <span class="mono">{gate.key}</span>
                  )}
                </td>
                <td>
                  <span class="number">{gate.inside}</span> <Holders names={gate.holders} of={gate.inside} most={3} />
                </td>
                <td class="number">
                  {countInWords(gate.waiting)}
                  {gate.restUntil !== undefined && (
                    <span class="muted">
                      , goes on <Ago at={gate.restUntil} />
                    </span>
                  )}
                </td>
                <td>
                  <Holders names={gate.next} of={gate.waiting.count} most={5} />
                </td>
                <td class="number muted cut">{gate.heldMs === undefined ? '–' : `about ${duration(gate.heldMs)}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {hasMore && <p class="muted">There are more keys.</p>}
    </section>
  )
}

/** The first of them: runs, or steps as `run/step`. */
function Holders({ names, of, most }: { names: readonly string[]; of: number; most: number }) {
  const shown = names.slice(0, most)
  return (
    <>
      {shown.map((name, i) => (
        <span key={name}>
          {i > 0 && ', '}
          <a class="mono" href={href(['runs', name.split('/')[0]!])}>
            {holderAsWritten(name)}
          </a>
        </span>
      ))}
      {shown.length > 0 && shown.length < of && <span class="muted">, …</span>}
    </>
  )
}

/** `run/step`, as both were written. */
function holderAsWritten(name: string): string {
  const [run = '', ...step] = name.split('/')
  return [runIdAsWritten(run), ...step.map(asWritten)].join('/')
}

const WORDS = {
  pause: {
    verb: 'Pause',
    text: 'It admits nothing until it is resumed. What is inside stays there; new runs and steps are queued.',
  },
  resume: { verb: 'Resume', text: 'Queued runs and steps are admitted again, as far as the limit allows.' },
  reset: {
    verb: 'Reset',
    text: 'The numbers of the code apply again, and unreadable state is dropped. What is inside stays there.',
  },
} as const

function Steering({ limit }: { limit: LimitView }) {
  const { name, isSet, paused } = limit
  const [open, setOpen] = useState<Action | undefined>()
  const close = () => setOpen(undefined)
  const takes = takenBy(limit)
  const actions: [Action, string][] = [
    ...(takes.concurrency || takes.rate ? [['set', 'Set'] as [Action, string]] : []),
    paused ? ['resume', 'Resume'] : ['pause', 'Pause'],
    ...(isSet || damageOf(limit).length > 0 ? [['reset', 'Reset'] as [Action, string]] : []),
  ]
  return (
    <div class="actions">
      {actions.map(([action, title]) => (
        <button
          key={action}
          type="button"
          disabled={config.value.isReadOnly}
          onClick={() => setOpen(action)}
          aria-label={`${title} ${name}`}
        >
          {title}
        </button>
      ))}
      {open === 'set' && <SetLimit limit={limit} onClose={close} />}
      {open !== undefined && open !== 'set' && (
        <Confirm
          title={`${WORDS[open].verb} ${name}`}
          verb={WORDS[open].verb}
          text={WORDS[open].text}
          onDo={async (key) => void (await steerLimit(name, open, key))}
          onClose={close}
        />
      )}
    </div>
  )
}
