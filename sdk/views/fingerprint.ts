import type { ErrorRecord } from '../base/events.ts'
import { withoutRepeat } from './fold.ts'
import { Hash } from './hash.ts'

/** What failures of one incident have in common, however often and in however many runs they occur. */
export interface Fingerprint {
  /** Short, and the same wherever it is computed. */
  id: string
  workflow: string
  /** The name of the root error. */
  name: string
  code?: string
  /** Where it happened, without repeat counts and without positions and keys of map items. */
  step?: string
  /**
   * The error's message without the parts that differ from run to run; without a message, the topmost line of
   * user code.
   */
  says: string
}

const LONGEST = 200

export function fingerprint(workflow: string, error: ErrorRecord): Fingerprint {
  const root = rootOf(error)
  const step = stepOf(error)
  const says = withoutVariables(firstLine(root.message)) || topmostFrame(root.stack) || ''
  const code = root.code === undefined ? undefined : String(root.code)
  const found = {
    workflow,
    name: root.name,
    ...(code !== undefined && { code }),
    ...(step !== undefined && { step }),
    says,
  }
  return { id: idOf(found), ...found }
}

/** An error code identifies an error better than its message, which may vary. */
function idOf({ workflow, name, code = '', step = '', says }: Omit<Fingerprint, 'id'>): string {
  return new Hash().with([workflow, name, code, step, code === '' ? says : ''].join('\n')).base36
}

/** The id that groups failures today. 0.1.0 stored ids that separate different messages of one code. */
export const groupOf = (workflow: string, stored: Omit<Fingerprint, 'workflow'>): string =>
  stored.code === undefined ? stored.id : idOf({ ...stored, workflow })

/** About as much as is stored: a message may be very long, and searching it takes time. */
const MOST_LOOKED_AT = 2 * LONGEST
const firstLine = (message: string): string =>
  message
    .slice(0, 20 * LONGEST)
    .trimStart()
    .split('\n', 1)[0]!
    .slice(0, MOST_LOOKED_AT)

/** The root error; the errors around it name the step and the child. Of several, the first. */
function rootOf(error: ErrorRecord): ErrorRecord {
  let root = error
  for (let within = root.cause ?? root.errors?.[0]; within; within = root.cause ?? root.errors?.[0]) root = within
  return root
}

/** The innermost step, `charge` for `orders/17/charge:2`. */
function stepOf(error: ErrorRecord): string | undefined {
  let step: string | undefined
  for (let each: ErrorRecord | undefined = error; each; each = each.cause) step = each.step ?? step
  return step === undefined ? undefined : withoutRepeats(step)
}

/**
 * The part that repeats and map items of an operation share: `charge` for `charge:2`, and a star for the
 * position or key of an item.
 */
export function withoutRepeats(operation: string): string {
  // Most have no such part.
  if (!/[/:]|^\d+$/.test(operation)) return operation
  return operation
    .split('/')
    .map((part, i, all) => (isItem(part, i > 0 && i < all.length - 1) ? '*' : withoutRepeat(part)))
    .join('/')
}

/**
 * Whether a part of an operation's path is the position of a map item, or its key: it comes right after the
 * map, and contains a character that ids have.
 */
function isItem(part: string, isBetween: boolean): boolean {
  return /^\d+$/.test(part) || (isBetween && /[\d@]/.test(withoutRepeat(part).replaceAll(ESCAPED, '')))
}
const ESCAPED = /~[012]/g

/** From the most to the least certain: a match is not examined again. */
const VARIABLE: readonly RegExp[] = [
  /\b[a-z][a-z0-9+.-]*:\/\/[^\s'"<>)]+/gi, // addresses
  /\b[\w.+-]+@[\w-]+\.[\w.-]+/g, // mail addresses
  /'[^']*'|"[^"]*"|`[^`]*`|“[^”]*”/g, // what is quoted
  /[\w.:@+~=-]*\d[\w.:@+~=-]*/g, // ids, numbers, dates, times, addresses of machines
]

function withoutVariables(message: string): string {
  let text = message
  for (const variable of VARIABLE) text = text.replaceAll(variable, '…')
  return text
    .replaceAll(/…(?:[\s,;/]*…)+/g, '…')
    .trim()
    .slice(0, LONGEST)
}

/** Its function and file without the line, which moves with every change above it. */
function topmostFrame(stack: string | undefined): string | undefined {
  const lines = stack?.split('\n').map((line) => line.trim()) ?? []
  const own = lines.find((line) => line.startsWith('at ') && !/node:|node_modules|<anonymous>/.test(line))
  return own
    ?.replace(/:\d+:\d+/, '')
    .replace(/^at (?:async )?/, 'at ')
    .slice(0, LONGEST)
}
