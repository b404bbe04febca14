import {
  ConflictException,
  type CreateScheduleInput,
  type DeleteScheduleInput,
  type GetScheduleInput,
  ResourceNotFoundException,
  ValidationException,
} from '@aws-sdk/client-scheduler'
import type { Clock } from '../../../sdk/ports/world.ts'
import { type Chance, NEVER, type Range } from './chance.ts'
import { METADATA } from './errors.ts'
import type { Sqs } from './sqs/service.ts'

/** What EventBridge Scheduler does as it pleases. */
export interface SchedulerHabits {
  /** AWS promises a minute. */
  lateMs: Range
  twice: number
  never: number
  /** How often a schedule fires that was deleted before its time. */
  afterDeletion: number
}

export const PROMPT_SCHEDULER: SchedulerHabits = { lateMs: [0, 0], twice: NEVER, never: NEVER, afterDeletion: NEVER }
export const MOODY_SCHEDULER: SchedulerHabits = { lateMs: [0, 60_000], twice: 0.05, never: 0.03, afterDeletion: 0.05 }

interface Schedule {
  input: CreateScheduleInput
  at: number
}

const NAME = /^[0-9a-zA-Z-_.]{1,64}$/
const AT = /^at\((\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\)$/

/** One-shot schedules whose target is a queue. */
export class Scheduler {
  private readonly clock: Clock
  private readonly chance: Chance
  private readonly sqs: Sqs
  private readonly habits: SchedulerHabits
  private readonly schedules = new Map<string, Schedule>()

  constructor(clock: Clock, chance: Chance, sqs: Sqs, habits: Partial<SchedulerHabits> = {}) {
    this.clock = clock
    this.chance = chance
    this.sqs = sqs
    this.habits = { ...PROMPT_SCHEDULER, ...habits }
  }

  /** The schedules that are there, for those who check invariants. */
  get contents(): readonly Readonly<Schedule>[] {
    return [...this.schedules.values()]
  }

  readonly commands = {
    CreateScheduleCommand: (input: CreateScheduleInput) => this.create(input),
    DeleteScheduleCommand: (input: DeleteScheduleInput) => {
      this.find(input)
      this.schedules.delete(keyOf(input))
      return {}
    },
    GetScheduleCommand: (input: GetScheduleInput) => {
      const { ClientToken: _, ...schedule } = this.find(input).input
      return { ...schedule, Arn: arnOf(input), State: 'ENABLED' }
    },
  }

  private create(input: CreateScheduleInput): object {
    const now = this.clock.now()
    const at = timeOf(input)
    const taken = this.schedules.get(keyOf(input))
    // A repeated attempt of the same call brings the same token, and is answered as the first one was.
    if (taken && (input.ClientToken === undefined || taken.input.ClientToken !== input.ClientToken)) {
      throw new ConflictException({
        Message: `Schedule ${input.Name} already exists.`,
        message: `Schedule ${input.Name} already exists.`,
        $metadata: METADATA,
      })
    }
    if (!taken) {
      if (at <= now) throw refused(`Invalid Schedule Expression ${input.ScheduleExpression}: the time has passed.`)
      this.sqs.queue(input.Target?.Arn)
      const schedule = { input, at }
      this.schedules.set(keyOf(input), schedule)
      this.arm(schedule)
    }
    return { ScheduleArn: arnOf(input) }
  }

  private arm(schedule: Schedule): void {
    const { chance, habits } = this
    const firings = chance.strikes(habits.never) ? 0 : chance.strikes(habits.twice) ? 2 : 1
    const survives = chance.strikes(habits.afterDeletion)
    for (let firing = 1; firing <= firings; firing++) {
      this.clock.at(schedule.at + chance.within(habits.lateMs), () => this.fire(schedule, survives || firing > 1))
    }
    if (firings === 0) this.clock.at(schedule.at + habits.lateMs[1], () => this.complete(schedule))
  }

  private fire(schedule: Schedule, whateverHappened: boolean): void {
    if (!whateverHappened && this.schedules.get(keyOf(schedule.input)) !== schedule) return
    const { Arn, Input = '{}' } = schedule.input.Target!
    this.sqs.queue(Arn).send(Input)
    this.complete(schedule)
  }

  private complete(schedule: Schedule): void {
    const key = keyOf(schedule.input)
    if (schedule.input.ActionAfterCompletion === 'DELETE' && this.schedules.get(key) === schedule)
      this.schedules.delete(key)
  }

  private find(input: DeleteScheduleInput): Schedule {
    const schedule = this.schedules.get(keyOf(input))
    if (schedule) return schedule
    const message = `Schedule ${input.Name} does not exist.`
    throw new ResourceNotFoundException({ Message: message, message, $metadata: METADATA })
  }
}

function timeOf({
  Name = '',
  ScheduleExpression = '',
  ScheduleExpressionTimezone = 'UTC',
  FlexibleTimeWindow,
  Target,
}: CreateScheduleInput): number {
  if (!NAME.test(Name))
    throw refused(
      `Value '${Name}' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: ${NAME.source}`,
    )
  const [, time] = AT.exec(ScheduleExpression) ?? []
  const at = time === undefined ? Number.NaN : Date.parse(`${time}Z`)
  if (Number.isNaN(at)) throw refused(`Invalid Schedule Expression ${ScheduleExpression}.`)
  if (ScheduleExpressionTimezone !== 'UTC')
    throw refused(`the scheduler in memory knows UTC only, not ${ScheduleExpressionTimezone}`)
  if (FlexibleTimeWindow?.Mode !== 'OFF') throw refused('the scheduler in memory knows FlexibleTimeWindow OFF only')
  if (!Target?.Arn || !Target.RoleArn) throw refused('A schedule needs a target with its Arn and a RoleArn.')
  return at
}

function refused(message: string): ValidationException {
  return new ValidationException({ Message: message, message, $metadata: METADATA })
}

const keyOf = ({ GroupName = 'default', Name }: { GroupName?: string | undefined; Name: string | undefined }): string =>
  `${GroupName}/${Name}`
const arnOf = (input: Parameters<typeof keyOf>[0]): string =>
  `arn:aws:scheduler:memory-1:000000000000:schedule/${keyOf(input)}`
