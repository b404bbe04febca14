import { randomInt } from 'node:crypto'
import { styleText } from 'node:util'

/**
 * All output to the operator's terminal passes through here. Much of it comes from strangers: errors of
 * callbacks, payloads, names. Control sequences in it are shown as text, such as `\u001b`. Our own colours
 * are marked by a random number that no outside text can contain.
 */
const OURS = randomInt(1e9, 1e10)
const OUR_COLOURS = new RegExp(`\\u001b\\[(\\d+);${OURS}m`)

/** C0 without the new lines and tabs that we print, DEL, C1, and characters that reverse the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g
const spelt = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

/** For `say` and `complain` alone: elsewhere the text stays without colour. */
export function paint(format: Parameters<typeof styleText>[0], text: string): string {
  const [open = '', close = ''] = styleText(format, '|').split('|')
  return open === '' ? text : `${marked(open)}${text}${marked(close)}`
}

const marked = (codes: string): string => codes.replaceAll(/(\d+)m/g, `$1;${OURS}m`)

/** The text for the terminal. JSON stays equivalent JSON. */
export function shown(text: string): string {
  return text
    .split(OUR_COLOURS)
    .map((part, i) => (i % 2 === 0 ? part.replaceAll(OBEYED, spelt) : `\u001b[${part}m`))
    .join('')
}

/** Text that must stay on its line. */
export const inLine = (text: string): string => text.replaceAll('\n', '\\n').replaceAll('\t', '\\t')

export const say = (text: string): void => console.log(shown(text))
export const complain = (text: string): void => console.error(shown(text))

const CLEAR_SCREEN = '\u001b[H\u001b[J'
/** Replaces the previous output. */
export const sayInstead = (text: string): void => console.log(CLEAR_SCREEN + shown(text))
