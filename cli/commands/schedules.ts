import type { Command } from 'commander'
import { Schedules, type ScheduleView } from '../../sdk/client/schedules.ts'
import { scheduleToJson } from '../../sdk/http-api/encode.ts'
import { clockTime, fromNow, span } from '../../sdk/views/moments.ts'
import { Session } from '../session.ts'

const DONE = {
  pause: 'starts nothing more until it is resumed',
  resume: 'goes on',
  trigger: 'starts a run now',
} as const
const SUMMARIES = {
  pause: 'start nothing more',
  resume: 'go on after a pause',
  trigger: 'start a run now, whatever the plan says',
} as const

export function addSchedules(program: Command): void {
  const command = program
    .command('schedules')
    .summary('list, pause, resume or trigger schedules')
    .description('Lists the schedules and when each is due next.')
    .action(async () => {
      const session = Session.of(command)
      const schedules = await new Schedules(session.client).list()
      const text = schedules.map((schedule) => line(schedule, Date.now())).join('\n')
      session.print(text || 'no schedules', { schedules: schedules.map(scheduleToJson) })
    })
  for (const action of ['pause', 'resume', 'trigger'] as const) {
    const sub = command
      .command(action)
      .description(SUMMARIES[action])
      .argument('<schedule>', 'its name')
      .action(async (name: string) => {
        const session = Session.of(sub)
        await new Schedules(session.client)[action](name)
        session.print(`${name} ${DONE[action]}`, { accepted: true, name, action })
      })
  }
}

function line(
  { name, workflow, cron, everyMs, timezone, isPaused, nextDue, started, lastError }: ScheduleView,
  now: number,
): string {
  const plan = cron === undefined ? `every ${span(everyMs!)}` : `${cron} (${timezone})`
  const due = nextDue === undefined ? 'never again' : `next ${clockTime(nextDue, now)} (${fromNow(nextDue, now)})`
  const when = lastError?.at === undefined ? '' : ` ${fromNow(lastError.at, now)}`
  const trouble = lastError ? `\n  trouble${when}: ${lastError.message}` : ''
  return `${name}  ${workflow}  ${plan}  ${isPaused ? 'paused' : due}  ${started} started${trouble}`
}
