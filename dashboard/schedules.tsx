import { useState } from 'preact/hooks'
import { listSchedules, steerSchedule } from './api.ts'
import { useSending } from './form/use-form.ts'
import { amount, duration } from './format.ts'
import { hurry } from './live/changes.ts'
import { always, useLoaded } from './live/use-loaded.ts'
import { Empty, Shown, Trouble } from './parts/states.tsx'
import { Ago } from './parts/time.tsx'
import { href } from './route.ts'
import { Confirm } from './run/confirm.tsx'
import { config } from './settings.ts'

export function SchedulesPage() {
  const loaded = useLoaded('schedules', listSchedules, always)
  return (
    <div class="page">
      <h1>Schedules</h1>
      <Shown loaded={loaded}>
        {(schedules) =>
          schedules.length === 0 ? (
            <Empty title="No schedules">
              <p>
                Export one beside your workflows:{' '}
                <code>schedule('nightly', {"{ cron: '0 3 * * *' }"}, workflow, input)</code>
              </p>
            </Empty>
          ) : (
            <table class="table">
              <thead>
                <tr>
                  {['Name', 'State', 'Workflow', 'Plan', 'Next', 'Started', 'Skipped'].map((title) => (
                    <th key={title}>{title}</th>
                  ))}
                  <th>
                    <span class="unseen">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {schedules.map((schedule) => (
                  <tr key={schedule.name}>
                    <td>
                      <a href={href(['runs', schedule.runId])}>{schedule.name}</a>
                      {schedule.lastError && <p class="problem">{schedule.lastError.message}</p>}
                    </td>
                    <td>
                      {schedule.isPaused ? (
                        <span class="status is-cancelled">paused</span>
                      ) : (
                        <span class="status is-completed">active</span>
                      )}
                    </td>
                    <td>
                      <a href={href(['workflows', schedule.workflow])}>{schedule.workflow}</a>
                    </td>
                    <td class="mono">{planOf(schedule)}</td>
                    <td class="number">
                      {schedule.nextDue === undefined ? <span class="muted">–</span> : <Ago at={schedule.nextDue} />}
                    </td>
                    <td class="number">{amount(schedule.started)}</td>
                    <td class="number">{amount(schedule.skipped)}</td>
                    <td class="row-actions">
                      <Steering name={schedule.name} isPaused={schedule.isPaused} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Shown>
    </div>
  )
}

type Schedule = Awaited<ReturnType<typeof listSchedules>>[number]

/** In the notation of the code. */
function planOf(schedule: Schedule): string {
  const { cron, everyMs, timezone } = schedule
  return cron === undefined ? `every ${duration(everyMs ?? 0)}` : `${cron} (${timezone})`
}

function Steering({ name, isPaused }: { name: string; isPaused: boolean }) {
  const [isAsking, ask] = useState(false)
  const { refusal, submit } = useSending(async (_body, key) => {
    await steerSchedule(name, isPaused ? 'resume' : 'pause', key)
    hurry()
  })
  const { isReadOnly } = config.value
  return (
    <>
      <button
        type="button"
        disabled={isReadOnly}
        onClick={() => void submit({ name, isPaused }, [])}
        aria-label={`${isPaused ? 'Resume' : 'Pause'} ${name}`}
      >
        {isPaused ? 'Resume' : 'Pause'}
      </button>
      <button type="button" disabled={isReadOnly} onClick={() => ask(true)} aria-label={`Start now: ${name}`}>
        Start now
      </button>
      {refusal && <Trouble refusal={refusal} />}
      {isAsking && (
        <Confirm
          title={`Start ${name} now`}
          verb="Start"
          text="A run is started now, whatever the plan says. The plan goes on as it is."
          onDo={async (key) => void (await steerSchedule(name, 'trigger', key))}
          onClose={() => ask(false)}
        />
      )}
    </>
  )
}
