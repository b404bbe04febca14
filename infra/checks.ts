import { existsSync } from 'node:fs'
import { Duration, Token } from 'aws-cdk-lib'
import { FUNCTION_NAMES, type OverwinterProps } from './options.ts'

/** Refuses, with the option's name, settings that AWS would refuse during a deployment, or accept and ignore. */
export function checkOptions(props: OverwinterProps): void {
  const { timeout, batchSize, maxAttempts, memory, workersConcurrency } = props
  if (timeout)
    inRange(
      'timeout',
      timeout.toSeconds({ integral: false }),
      TIMEOUT_S,
      'a step that takes longer pauses, checkpoints, or is a task for a worker outside',
      'seconds',
    )
  inRange('batchSize', batchSize, [1, 10], 'the queue hands out no more at once')
  inRange('maxAttempts', maxAttempts, [1, 1_000], 'the queue counts no further')
  checkMemory(memory)
  if (props.codec !== undefined && !existsSync(props.codec))
    throw new Error(`codec: there is no file ${props.codec}; give the path of a module whose default export is a codec`)
  checkAuth(props)
  checkStartPaused(props)
  checkThrottle('throttle', props.throttle)
  if (props.callbacks) {
    checkThrottle('callbacks.throttle', props.callbacks.throttle)
    inRange(
      'callbacks.concurrency',
      props.callbacks.concurrency,
      [1, 100_000],
      'with none, no callback could be answered; callbacks: false closes them',
    )
  }
  if (props.invokes?.some((name) => name.trim() === ''))
    throw new Error('invokes has an empty name; give the names or ARNs of functions')
  if (props.retention?.payloads)
    inRange(
      'retention.payloads',
      props.retention.payloads.toDays({ integral: false }),
      [400, 36_500],
      'it must exceed the age that a run can reach, or payloads of sleeping runs would go away',
      'days',
    )
  if (workersConcurrency !== false)
    inRange('workersConcurrency', workersConcurrency, [2, 100_000], 'each worker takes two; false sets no limit')
  if (props.failedRunsAlarm !== false)
    inRange('failedRunsAlarm', props.failedRunsAlarm, [1, 1_000_000], 'false sets no alarm')
  checkConcurrency(props)
}

function checkStartPaused({ startPaused }: OverwinterProps): void {
  if (typeof startPaused !== 'string' || Token.isUnresolved(startPaused) || /^[\x20-\x7e]{1,100}$/.test(startPaused))
    return
  throw new Error('startPaused must be true, or a text of 1 to 100 plain characters that names the occasion')
}

function checkAuth({ api = 'http', auth = 'iam' }: OverwinterProps): void {
  if (api === 'http' || auth === 'iam' || !('jwt' in auth)) return
  throw new Error(
    "auth: { jwt } needs api: 'http'. REST APIs have no authorizer for JWTs. Leave api out, or use auth: 'iam' " +
      'or auth: { token }',
  )
}

/**
 * A runner starts no step in its last five seconds, so less than ten leave no time for any. Lambda's maximum
 * is 15 minutes.
 */
const TIMEOUT_S: Range = [10, Duration.minutes(15).toSeconds()]

type Range = readonly [least: number, most: number]

function inRange(option: string, value: number | undefined, [least, most]: Range, why: string, unit = ''): void {
  if (value === undefined || Token.isUnresolved(value)) return
  if (Number.isInteger(value) && value >= least && value <= most) return
  const range = `${least.toLocaleString('en')} to ${most.toLocaleString('en')}${unit && ` ${unit}`}`
  throw new Error(`${option} is ${value}, and must be a whole number from ${range}: ${why}`)
}

function checkThrottle(option: string, throttle: OverwinterProps['throttle']): void {
  inRange(`${option}.rateLimit`, throttle?.rateLimit, [1, 100_000], 'API Gateway refuses every request otherwise')
  inRange(`${option}.burstLimit`, throttle?.burstLimit, [1, 100_000], 'API Gateway refuses every request otherwise')
}

function checkMemory(memory: OverwinterProps['memory']): void {
  const sizes = typeof memory === 'object' ? Object.entries(memory) : [['', memory] as const]
  for (const [name, size] of sizes) {
    if (name && !FUNCTION_NAMES.some((known) => known === name))
      throw new Error(`memory.${name}: there is no such function. There are ${FUNCTION_NAMES.join(', ')}`)
    inRange(name ? `memory.${name}` : 'memory', size, [128, 10_240], 'Lambda has no other sizes', 'MB')
  }
}

/** The event source of a queue starts at least 2 functions, and at most this many. */
const MOST_CONCURRENT = 1_000
const LEAST_CONCURRENT = 2

function checkConcurrency({ reservedConcurrency: reserved, maxConcurrency: most }: OverwinterProps): void {
  inRange(
    'maxConcurrency',
    most,
    [LEAST_CONCURRENT, MOST_CONCURRENT],
    'the queue cannot be told to start fewer or more runners',
  )
  if (reserved === undefined || Token.isUnresolved(reserved)) return
  if (!Number.isInteger(reserved) || reserved < LEAST_CONCURRENT)
    throw new Error(
      `reservedConcurrency is ${reserved}, and must be a whole number from ${LEAST_CONCURRENT} on: the queue ` +
        'cannot be told to start fewer runners',
    )
  if (most !== undefined && !Token.isUnresolved(most) && most > reserved) {
    throw new Error(
      `maxConcurrency is ${most} and reservedConcurrency ${reserved}: the queue would start runners that Lambda refuses, and healthy runs would end among the dead letters. ` +
        'Leave maxConcurrency out, or make it no larger than the reservation',
    )
  }
}

/** One in five. */
const FOR_THOSE_WAITED_FOR = 5

/**
 * How many runners the queue may start. Lambda would refuse more than the reservation, again and again, until
 * the run is parked.
 */
export function concurrencyOf({ maxConcurrency, reservedConcurrency }: OverwinterProps): number | undefined {
  if (maxConcurrency !== undefined || reservedConcurrency === undefined) return maxConcurrency
  if (Token.isUnresolved(reservedConcurrency)) return reservedConcurrency
  // The rest is for runs that a caller waits for, which the API hands over itself.
  return Math.min(
    Math.max(2, reservedConcurrency - Math.ceil(reservedConcurrency / FOR_THOSE_WAITED_FOR)),
    MOST_CONCURRENT,
  )
}
