import type { ScheduleView } from '../../sdk/client/schedules.ts'
import { Transport } from '../../sdk/http-client/transport.ts'
import type { ListOptions, RunStatus } from '../../sdk/index.ts'
import type { RunPage, RunSummary } from '../../sdk/ports/run-lists.ts'
import { span } from '../../sdk/views/moments.ts'
import type { Session } from '../session.ts'

export interface Check {
  name: string
  /** `skipped`: it could not be checked. */
  state: 'ok' | 'warn' | 'bad' | 'skipped'
  text: string
}

type List = (filter: ListOptions) => Promise<RunPage>

/** Wake-ups may be a little late; the sweeper of a deployment runs once a minute. */
const OVERDUE_MS = 90_000
const SLOW_MS = 2_000
const SKEW_MS = 5_000
const MOST_NAMED = 3
const PAGE = 1_000

/** Throws when the server does not answer. */
export async function checkServer(session: Session): Promise<Check[]> {
  const { url } = session.connection
  const began = Date.now()
  const clocks = { server: 0 }
  // The clock is in a header, which the client does not show.
  const fetchAndLook: typeof fetch = async (...args) => {
    const response = await fetch(...args)
    clocks.server = Date.parse(response.headers.get('date') ?? '') || Date.now()
    return response
  }
  const transport = new Transport({ ...session.connection, fetch: fetchAndLook })
  const { body } = await transport.send<{ workflows: { name: string }[] }>({ method: 'GET', path: '/workflows' })
  const took = Date.now() - began
  const skew = Math.abs(clocks.server - Date.now())
  const checks: Check[] = [
    { name: 'server', state: took > SLOW_MS ? 'warn' : 'ok', text: `${url} answers in ${span(took)}` },
    { name: 'workflows', state: 'ok', text: `it runs ${body.workflows.map(({ name }) => name).join(', ')}` },
  ]
  if (skew > SKEW_MS)
    checks.push({ name: 'clock', state: 'warn', text: `its clock and this machine's differ by ${span(skew)}` })
  return checks
}

export async function checkRuns(list: List, now = Date.now()): Promise<Check[]> {
  const inState = (status: RunStatus) => list({ status, limit: PAGE })
  const pages = await Promise.all((['pending', 'sleeping', 'waiting'] as const).map(inState))
  const open = together(pages)
  const overdue = { ...open, runs: open.runs.filter(({ wakeAt }) => wakeAt !== undefined && wakeAt < now - OVERDUE_MS) }
  const due = open.runs.filter(({ wakeAt }) => wakeAt !== undefined && wakeAt <= now)
  const [stuck, failed] = await Promise.all([inState('stuck'), inState('failed')])
  return [
    { name: 'open', state: 'ok', text: `${count(open)} waiting, ${due.length} of them due now` },
    verdict('overdue', overdue, 'bad', 'overdue: no runner has claimed them in time'),
    verdict('stuck', together([stuck]), 'bad', 'stuck: they wait for people; `overwinter show <run>` says why'),
    verdict('failed', together([failed]), 'warn', 'failed; `overwinter retry <run>` lets one go on'),
  ]
}

/** A schedule sleeps until it is due, unless it is paused; one that is overdue has no runner. */
export function checkSchedules(schedules: ScheduleView[], now = Date.now()): Check[] {
  const late = schedules.filter(({ nextDue }) => nextDue !== undefined && nextDue < now - OVERDUE_MS)
  const text = (each: ScheduleView) =>
    `schedule ${each.name} was due ${span(now - each.nextDue!)} ago and has not started its run`
  if (late.length > 0) return late.map((each) => ({ name: 'schedules', state: 'bad', text: text(each) }))
  const troubled = schedules.filter(({ lastError }) => lastError)
  if (troubled.length > 0)
    return troubled.map(({ name, lastError }) => ({
      name: 'schedules',
      state: 'warn',
      text: `schedule ${name}: ${lastError!.message}`,
    }))
  if (schedules.length === 0) return [{ name: 'schedules', state: 'ok', text: 'there are no schedules' }]
  const paused = schedules.filter(({ isPaused }) => isPaused).length
  const number = schedules.length === 1 ? '1 schedule' : `${schedules.length} schedules`
  return [
    {
      name: 'schedules',
      state: 'ok',
      text: `${number}${paused > 0 ? `, ${paused} of them paused` : ''}; none is behind its plan`,
    },
  ]
}

/** Checked runs. `isAll` is false if there is more than one page. */
interface Looked {
  runs: RunSummary[]
  isAll: boolean
}

const together = (pages: RunPage[]): Looked => ({
  runs: pages.flatMap(({ runs }) => runs),
  isAll: pages.every(({ cursor }) => cursor === undefined),
})

function verdict(name: string, looked: Looked, state: 'warn' | 'bad', what: string): Check {
  const { runs, isAll } = looked
  if (runs.length === 0)
    return {
      name,
      state: 'ok',
      text: isAll ? `no run is ${name}` : `none of the newest runs is ${name}; there are more than were looked at`,
    }
  const some = runs.slice(0, MOST_NAMED).map(({ runId }) => runId)
  return {
    name,
    state,
    text: `${count(looked)} ${what} (${[...some, ...(runs.length > MOST_NAMED ? ['…'] : [])].join(', ')})`,
  }
}

function count({ runs, isAll }: Looked): string {
  return runs.length === 1 && isAll ? '1 run' : `${runs.length}${isAll ? '' : ' or more'} runs`
}
