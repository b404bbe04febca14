import { type Attributes, type Case, map, n, s } from './case.ts'

/** The expressions that the AWS world makes, each on the states it may meet. As texts: what is recorded stays what it was. */

const NOW = 1_767_225_600_000
const run = {
  life: s('life-1'),
  epoch: n(3),
  stimulus: n(7),
  status: s('running'),
  leaseUntil: n(NOW + 5),
  wakeAt: n(NOW - 5),
  createdAt: n(NOW - 9),
}
const without = (item: Attributes, ...names: string[]): Attributes =>
  Object.fromEntries(Object.entries(item).filter(([name]) => !names.includes(name)))

const STATES: Record<string, Attributes | undefined> = {
  'no run': undefined,
  'a held run': run,
  'a run whose lease is over': { ...run, leaseUntil: n(NOW) },
  'a free run that is due': { ...without(run, 'leaseUntil'), status: s('sleeping') },
  'a free run that is not due': { ...without(run, 'leaseUntil'), status: s('sleeping'), wakeAt: n(NOW + 1) },
  'a run that waits': { ...without(run, 'leaseUntil', 'wakeAt'), status: s('waiting') },
  'a run that has ended': {
    ...without(run, 'leaseUntil', 'wakeAt'),
    status: s('completed'),
    endedAt: n(NOW - 1),
    ttl: n(NOW / 1000 + 60),
  },
  'a run past its retention': {
    ...without(run, 'leaseUntil', 'wakeAt'),
    status: s('completed'),
    endedAt: n(NOW - 1),
    ttl: n(NOW / 1000),
  },
}

/** `#name` stands for `name`, as in the world. */
const namesOf = (...texts: string[]): Record<string, string> =>
  Object.fromEntries(texts.flatMap((text) => [...text.matchAll(/#\w+/g)].map(([name]) => [name, name.slice(1)])))

const write = (what: string, updateText: string, conditionText: string, values: Attributes): Case[] =>
  Object.entries(STATES).map(([state, item]) => ({
    name: `${what} ${state}`,
    call: 'update',
    ...(item && { item }),
    update: updateText,
    condition: conditionText,
    names: namesOf(updateText, conditionText),
    values,
    returns: 'ALL_NEW',
  }))

const put = (what: string, conditionText: string, values?: Attributes): Case[] =>
  Object.entries(STATES).map(([state, item]) => ({
    name: `${what} ${state}`,
    call: 'put',
    ...(item && { item }),
    put: { life: s('life-2'), status: s('pending') },
    condition: conditionText,
    names: namesOf(conditionText),
    ...(values && { values }),
  }))

const now = { ':now': n(NOW) }
const running = { ':heldEpoch': n(3), ':running': s('running') }

const runs: Case[] = [
  ...put('creating over', '(attribute_not_exists(#pk)) OR (#ttl <= :nowSeconds)', { ':nowSeconds': n(NOW / 1000) }),
  ...put('a frame or message over', '(attribute_not_exists(#pk)) OR (#life <> :life)', { ':life': s('life-1') }),
  ...write(
    'claiming',
    'SET #status = :set_status, #leaseUntil = :set_leaseUntil, #claim = :set_claim, #epoch = #epoch + :one, #leftBehind = if_not_exists(#leaseUntil, :none), #claims = if_not_exists(#claims, :noClaims) + :one, #startedAt = if_not_exists(#startedAt, :started) REMOVE #waitingFor',
    '((attribute_exists(#pk)) AND (attribute_not_exists(#endedAt))) AND (#wakeAt <= :now) AND ((attribute_not_exists(#leaseUntil)) OR (#leaseUntil <= :now))',
    {
      ...now,
      ':set_status': s('running'),
      ':set_leaseUntil': n(NOW + 30_000),
      ':set_claim': s('token'),
      ':one': n(1),
      ':none': n(0),
      ':noClaims': n(0),
      ':started': n(NOW),
    },
  ),
  ...write(
    'a mark on',
    'SET #stimulus = #stimulus + :one',
    '((attribute_exists(#pk)) AND (attribute_not_exists(#endedAt))) AND (#leaseUntil > :now)',
    {
      ...now,
      ':one': n(1),
    },
  ),
  ...write(
    'waking',
    'SET #wakeAt = :set_wakeAt, #dueShard = :set_dueShard, #dueKey = :set_dueKey, #stimulus = #stimulus + :one',
    '((attribute_exists(#pk)) AND (attribute_not_exists(#endedAt))) AND (((attribute_not_exists(#leaseUntil)) OR (#leaseUntil <= :now)) AND (NOT (#status IN (:is_stuck, :is_pending))))',
    {
      ...now,
      ':set_wakeAt': n(NOW),
      ':set_dueShard': s('DUE#1'),
      ':set_dueKey': s('0001'),
      ':one': n(1),
      ':is_stuck': s('stuck'),
      ':is_pending': s('pending'),
    },
  ),
  ...write(
    'suspending',
    'SET #status = :set_status, #waitingFor = :set_waitingFor, #lastSeq = :set_lastSeq REMOVE #leaseUntil, #leftBehind, #claims, #claim, #wakeAt, #dueShard, #dueKey',
    '(#epoch = :heldEpoch AND #status = :running) AND (#stimulus = :seen)',
    {
      ...running,
      ':seen': n(7),
      ':set_status': s('waiting'),
      ':set_waitingFor': { L: [map({ kind: s('signal') })] },
      ':set_lastSeq': n(4),
    },
  ),
  ...write(
    'the next generation of',
    'SET #input = :set_input, #generation = if_not_exists(#generation, :zero) + :one REMOVE #leaseUntil',
    '#epoch = :heldEpoch AND #status = :running',
    { ...running, ':set_input': s('{}'), ':zero': n(0), ':one': n(1) },
  ),
  ...write('later expiry of', 'SET #ttl = :set_ttl', 'attribute_exists(#pk)', { ':set_ttl': n(NOW / 1000 + 99) }),
]

const documentStates: Record<string, Attributes | undefined> = {
  'no document': undefined,
  'a document': { version: n(2), writer: s('one'), writerBefore: s(''), value: s('1') },
  'a document that will expire': {
    version: n(2),
    writer: s('one'),
    writerBefore: s(''),
    value: s('1'),
    expiresAt: n(NOW + 1),
  },
  'a document that has expired': {
    version: n(2),
    writer: s('one'),
    writerBefore: s(''),
    value: s('1'),
    expiresAt: n(NOW),
  },
}
const documentWrite =
  'SET #value = :set_value, #version = :set_version, #writer = :set_writer, #writerBefore = if_not_exists(#writer, :nobody) REMOVE #expiresAt, #ttl'
const IS_GONE = '(attribute_not_exists(#pk)) OR (#expiresAt <= :now)'
const IS_AT =
  '((attribute_exists(#pk)) AND ((attribute_not_exists(#expiresAt)) OR (#expiresAt > :now))) AND (#version = :version)'
const documents: Case[] = Object.entries(documentStates).flatMap(([state, item]) =>
  [IS_GONE, IS_AT].map(
    (text): Case => ({
      name: `${text === IS_GONE ? 'putting if absent' : 'putting at a version'} over ${state}`,
      call: 'update',
      ...(item && { item }),
      update: documentWrite,
      condition: text,
      names: namesOf(documentWrite, text),
      values: {
        ...now,
        ':set_value': s('2'),
        ':set_version': n(3),
        ':set_writer': s('two'),
        ':nobody': s(''),
        ...(text === IS_AT && { ':version': n(2) }),
      },
      returns: 'ALL_NEW',
    }),
  ),
)

export const WORLD: Case[] = [...runs, ...documents]
