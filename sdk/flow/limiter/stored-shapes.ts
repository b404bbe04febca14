import { inspect } from 'node:util'
import { MOST_CONCURRENCY } from './bounds.ts'

/**
 * What the documents of limiters look like. Each gives what is wrong with a value, or undefined. By hand, because
 * these are read whenever a slot is released. Fields that are not known here are ignored: a newer version may have
 * added them.
 */
export type Problem = (value: unknown, key: string) => string | undefined

type Fields = Record<string, unknown>
type Test = (value: unknown) => boolean

const isText: Test = (value) => typeof value === 'string'
const isNumber: Test = (value) => typeof value === 'number'
const isFlag: Test = (value) => typeof value === 'boolean'
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isCount: Test = (value) =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST_CONCURRENCY
const isPositive: Test = (value) => typeof value === 'number' && value > 0
const isIndex: Test = (value) => Number.isInteger(value) && (value as number) >= 0
const isName: Test = (value) => typeof value === 'string' && value !== '' && !value.includes('\u0000')
/** Empty while a slot is free. */
const isHolder: Test = (value) => value === '' || isName(value)
const isListOf =
  (...tests: Test[]): Test =>
  (value) =>
    Array.isArray(value) && value.every((each) => Array.isArray(each) && tests.every((test, i) => test(each[i])))

interface Shape {
  needs?: Record<string, [test: Test, what: string]>
  /** Where they are there. */
  may?: Record<string, [test: Test, what: string]>
}

const NUMBER: [Test, string] = [isNumber, 'a number']
const TEXT: [Test, string] = [isText, 'a text']
const FLAG: [Test, string] = [isFlag, 'true or false']

const isSpec: Test = (value) => {
  if (!isObject(value)) return false
  const { concurrency, rate, perMs } = value
  if (concurrency !== undefined && !isCount(concurrency)) return false
  return rate === undefined || (isPositive(rate) && isPositive(perMs))
}
const SPEC: [Test, string] = [
  isSpec,
  'the numbers of a limit, as in { "concurrency": 10 } or { "rate": 100, "perMs": 60000 }',
]

const isReservation: Test = (value) =>
  isObject(value) &&
  isText(value.to) &&
  isNumber(value.at) &&
  isOptional(value.cost, isPositive) &&
  isOptional(value.order, isNumber)

const isGrant: Test = (value) => {
  if (value === 'withdrawn') return true
  if (!isObject(value)) return false
  const { at, by, until, slot } = value
  return isNumber(at) && isNumber(by) && isOptional(until, isNumber) && isOptional(slot, isIndex)
}

function isOptional(value: unknown, test: Test): boolean {
  return value === undefined || test(value)
}

const RECORD: Shape = {
  needs: { code: SPEC },
  may: {
    set: SPEC,
    paused: FLAG,
    restUntil: NUMBER,
    widest: [isIndex, 'a number of slots'],
    since: NUMBER,
    ends: FLAG,
    serial: TEXT,
    round: NUMBER,
  },
}
const STATE: Shape = {
  may: {
    used: [isListOf(isNumber, isNumber), 'a list of [until, amount]'],
    lastAt: NUMBER,
    promised: [isReservation, 'a reservation: { to, at }'],
    returned: [isListOf(isText, isNumber), 'a list of [holder, time]'],
    restUntil: NUMBER,
    lane: TEXT,
    checkedAt: NUMBER,
    wasEmpty: FLAG,
    holders: [(value) => isObject(value) && Object.values(value).every(isNumber), 'times by holder'],
    heldMs: NUMBER,
  },
}
const SLOT: Shape = {
  needs: { holder: [isHolder, 'the id of a run or step'], since: NUMBER },
  may: { lane: TEXT, heldMs: NUMBER },
}
const ENTRY: Shape = {
  needs: { run: [isName, 'the id of a run'], lane: TEXT, order: NUMBER },
  may: {
    holder: [isName, 'the id of a run or step'],
    cost: [isPositive, 'a number above 0'],
    holds: FLAG,
    nth: NUMBER,
    since: NUMBER,
    grant: [isGrant, "a grant: { at, by }, or 'withdrawn'"],
  },
}

function problemOf(value: unknown, { needs = {}, may = {} }: Shape): string | undefined {
  if (!isObject(value)) return `it is ${shown(value)}, and must be an object`
  for (const name in needs) {
    const [test, what] = needs[name]!
    if (!test(value[name])) return misfit(name, value[name], what)
  }
  for (const name in may) {
    const given = value[name]
    if (given !== undefined && !may[name]![0](given)) return misfit(name, given, may[name]![1])
  }
  return undefined
}

const misfit = (name: string, given: unknown, what: string): string =>
  given === undefined ? `it has no '${name}'` : `its '${name}' is ${shown(given)}, and must be ${what}`

function shown(value: unknown): string {
  const text = inspect(value, { depth: 1, breakLength: Number.POSITIVE_INFINITY, maxStringLength: 60 })
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}

export const problemOfRecord: Problem = (value) => problemOf(value, RECORD)
export const problemOfState: Problem = (value) => problemOf(value, STATE)
export const problemOfSlot: Problem = (value, key) =>
  /^\d{1,6}$/.test(key) ? problemOf(value, SLOT) : 'its key is no number of a slot'
export const problemOfEntry: Problem = (value) => problemOf(value, ENTRY)
