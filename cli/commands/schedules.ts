import type { Command } from 'commander'
import { Schedules, type ScheduleView } from '../../sdk/schedules.ts'
import { clockTime, fromNow, span } from '../moments.ts'
import { Session } from '../session.ts'

const DONE = { pause: 'starts nothing more until it is resumed', resume: 'goes on', trigger: 'starts a run now' } as const
const SUMMARIES = { pause: 'start nothing more', resume: 'go on after a pause', trigger: 'start a run now, whatever the plan says' } as const

export function addSchedules(program: Command): void {
  const command = program
    .command('schedules')
    .summary('list, pause, resume or trigger schedules')
    .description('Lists the schedules and when each is due next.')
    .action(async () => {
      const session = Session.of(command)
      const schedules = await new Schedules(session.client).list()
      const text = schedules.map((schedule) => line(schedule, Date.now())).join('\n')
      session.print(text || 'no schedules', { schedules: schedules.map(toJson) })
    })
  for (const action of ['pause', 'resume', 'trigger'] as const) {
    const sub = command
      .command(action)
      .description(SUMMARIES[action])
      .argument('<schedule>', 'its name')
      .action(async (name: string) => {
        const session = Session.of(sub)
        await new Schedules(session.client)[action](name)
        session.print(`${name} ${DONE[action]}`, { name, action })
      })
  }
}

function line({ name, workflow, cron, everyMs, timezone, isPaused, nextDue, started }: ScheduleView, now: number): string {
  const plan = cron === undefined ? `every ${span(everyMs!)}` : `${cron} (${timezone})`
  const next = isPaused || nextDue === undefined ? 'paused' : `next ${clockTime(nextDue, now)} (${fromNow(nextDue, now)})`
  return `${name}  ${workflow}  ${plan}  ${next}  ${started} started`
}

function toJson({ nextDue, ...schedule }: ScheduleView) {
  return { ...schedule, ...(nextDue !== undefined && { nextDue: new Date(nextDue).toISOString() }) }
}
