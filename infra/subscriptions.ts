import { Duration } from 'aws-cdk-lib'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import type { Subscription as SubscriptionSettings } from '../functions/subscription.ts'
import { InvalidInputError } from '../sdk/base/errors.ts'
import { checkName } from '../sdk/base/names.ts'
import { type MappingKind, mappingFromData } from '../sdk/events/mapping.ts'
import type { Alarms } from './alarms.ts'
import { queueEncryption } from './encryption.ts'
import { EventSource } from './event-source.ts'
import type { FunctionProps } from './function.ts'
import type { OverwinterProps } from './options.ts'

/** JSONata on the event; docs/events.md shows what events look like. Functions are only for mappings of the entry. */
export interface StartOnEvent {
  /** The name of a workflow. */
  workflow: string
  /** The run's id. Without it the run's id is made from the event's own id. */
  id?: string
  /** The run's input; none unless given. `'$'` is the whole event. */
  input?: string
}

export interface SignalOnEvent {
  /**
   * The name of a workflow: only runs of this one. Without it, a sender of such events may signal any run
   * whose id it knows.
   */
  workflow?: string
  /** The name of a signal. */
  signal: string
  runId: string
  payload?: string
}

export interface CancelOnEvent {
  /**
   * The name of a workflow: only runs of this one. Without it, a sender of such events may cancel any run
   * whose id it knows.
   */
  workflow?: string
  runId: string
  /** `'"withdrawn"'` is a fixed reason. */
  reason?: string
}

export interface SubscriptionOptions {
  /** Its name in dead letters and in the stack. Default: that of the mapping, or its kind and its source. */
  name?: string
  /**
   * How long after an event's own time it is retried if its run does not exist. Default two minutes, which is
   * the maximum for a bus, a topic and a bucket.
   */
  patience?: Duration
  /**
   * The most events of a bus, a topic or a bucket that are processed at a time; further ones wait at their
   * sender. Reserved from the account's concurrency, so there is none unless given: a new account has none to
   * spare. Queues and streams have a bound already.
   */
  concurrency?: number
}

type Mapping = string | StartOnEvent | SignalOnEvent | CancelOnEvent

/** What a subscription's function needs from the construct. */
export interface Surroundings {
  add: (scope: Construct, props: Omit<FunctionProps, 'may'> & { deadLetters: Queue }) => LambdaFunction
  alarms: Alarms
}

/** The default visibility timeout of SQS. */
const TIMEOUT = Duration.seconds(30)
const PATIENCE = Duration.minutes(2)
/**
 * A queue or a stream delivers an event for a day and more; the other sources deliver it three times, the
 * last after three minutes.
 */
const MOST_PATIENCE = {
  bus: PATIENCE,
  topic: PATIENCE,
  bucket: PATIENCE,
  queue: Duration.days(1),
  stream: Duration.hours(12),
}

/**
 * Events from outside: one function for each subscription, and one queue for their dead letters. Nothing is
 * created before the first subscription.
 */
export class Subscriptions extends Construct {
  private readonly options: OverwinterProps
  private readonly surroundings: Surroundings
  private queue: Queue | undefined
  private readonly sources = new Set<unknown>()

  constructor(scope: Construct, options: OverwinterProps, surroundings: Surroundings) {
    super(scope, 'Subscriptions')
    this.options = options
    this.surroundings = surroundings
  }

  /** The queue of events that can never be taken; undefined without subscriptions. */
  get deadLetters(): Queue | undefined {
    return this.queue
  }

  /** Returns the function. */
  add(
    kind: MappingKind,
    source: EventSource,
    mapping: Mapping,
    { name = nameOf(kind, source, mapping), patience = PATIENCE, concurrency }: SubscriptionOptions = {},
  ): LambdaFunction {
    const what = `${kind}On`
    if (!(source instanceof EventSource))
      throw new Error(`${what}: the source must be an EventSource: .bus, .queue, .topic, .bucket or .stream`)
    check(what, name, kind, mapping)
    checkPatience(what, source, patience)
    checkConcurrency(what, source, concurrency)
    if (this.node.tryFindChild(name))
      throw new Error(
        `${what}: there is a subscription named '${name}' already. Give this one another name: { name: '…' }`,
      )
    this.checkSource(what, source)
    const deadLetters = this.deadLettersOf()
    const scope = new Construct(this, name)
    const settings: SubscriptionSettings = {
      name,
      source: source.kind,
      kind,
      mapping: typeof mapping === 'string' ? mapping : { ...mapping },
      patienceMs: patience.toMilliseconds(),
      ...(source.mostReceives !== undefined && { mostReceives: source.mostReceives }),
    }
    const handler = this.surroundings.add(scope, {
      handler: 'events',
      description: `Takes events of '${name}'`,
      memory: 512,
      timeout: TIMEOUT,
      environment: {
        OVERWINTER_SUBSCRIPTION: JSON.stringify(settings),
        OVERWINTER_EVENT_DEAD_LETTERS_URL: deadLetters.queueUrl,
      },
      keyUse: 'write',
      loadsEntry: true,
      ...(concurrency !== undefined && { reservedConcurrency: concurrency }),
      deadLetters,
    })
    source.attach({ scope, handler, timeout: TIMEOUT, deadLetters, kmsKey: this.options.kmsKey })
    this.surroundings.alarms.watchFunction(`Events-${name}`, handler)
    if (source.kind === 'stream') this.surroundings.alarms.watchStream(`Events-${name}`, handler)
    return handler
  }

  private checkSource(what: string, { shared }: EventSource): void {
    if (!shared) return
    const { construct, why } = shared
    if (construct === this.queue)
      throw new Error(
        `${what}: the source is the queue of dead letters itself, so that what fails would come round for ` +
          'ever. Send letters again one by one',
      )
    if (construct === (this.node.scope as { table?: unknown }).table)
      throw new Error(
        `${what}: the source is the table of the runs itself, so that each run would bring about the next. ` +
          'Give a table of your own',
      )
    if (why !== undefined && this.sources.has(construct)) throw new Error(`${what}: ${why}`)
    this.sources.add(construct)
  }

  private deadLettersOf(): Queue {
    if (this.queue) return this.queue
    this.queue = new Queue(this, 'EventDeadLetters', {
      ...queueEncryption(this.options.kmsKey),
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    })
    this.surroundings.alarms.watchEventDeadLetters(this.queue)
    return this.queue
  }
}

function nameOf(kind: MappingKind, { label }: EventSource, mapping: Mapping): string {
  if (typeof mapping === 'string') return mapping
  const { workflow, signal } = (mapping ?? {}) as { workflow?: string; signal?: string }
  return [kind, signal ?? workflow, 'on', label]
    .filter((part) => part !== undefined)
    .join('-')
    .replaceAll('/', '-')
}

function check(what: string, name: string, kind: MappingKind, mapping: Mapping): void {
  try {
    if (typeof mapping === 'string') checkName('the name of a mapping', mapping)
    else mappingFromData(name, { kind, ...mapping })
    checkName('the name of a subscription', name)
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    const [problem] = error.problems
    throw new Error(`${what}: ${problem ? `${problem.path.replace('$.', '')} ${problem.message}` : error.message}`)
  }
}

function checkConcurrency(what: string, { kind }: EventSource, concurrency: number | undefined): void {
  if (concurrency === undefined) return
  if (kind === 'queue' || kind === 'stream')
    throw new Error(
      `${what}: concurrency is for a bus, a topic and a bucket. A ${kind} has a bound of its own; leave it out`,
    )
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new Error(
      `${what}: concurrency is ${concurrency}, and must be a whole number from 1 on: with none, no event would ` +
        'be taken',
    )
}

function checkPatience(what: string, { kind }: EventSource, patience: Duration): void {
  const most = MOST_PATIENCE[kind]
  if (patience.toMilliseconds() <= most.toMilliseconds()) return
  const why =
    kind === 'queue' || kind === 'stream'
      ? 'keeps no event for longer'
      : 'brings an event three times in three minutes. For more, send it to a queue, and use EventSource.queue'
  throw new Error(
    `${what}: patience is ${patience.toHumanString()}, and must be at most ${most.toHumanString()}: a ${kind} ${why}`,
  )
}
