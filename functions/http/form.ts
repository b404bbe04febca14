import { HttpProblem } from './problem.ts'

const FORM = /^(application\/x-www-form-urlencoded|multipart\/form-data)\s*(;|$)/i
const URL_ENCODED = /^application\/x-www-form-urlencoded/i

/** What curl sends unless a type is given says it is a form; JSON begins with what no form can begin with. */
export function isForm(body: Uint8Array, type: string | undefined): boolean {
  if (type === undefined || !FORM.test(type)) return false
  return !(URL_ENCODED.test(type) && (body.length === 0 || JSON_BEGINS.has(body[0]!)))
}
const JSON_BEGINS: ReadonlySet<number> = new Set([...Buffer.from('{[" \n\r\t')])

/** What people fill in. The first value of a name counts. */
export type Form = ReadonlyMap<string, string>

/** Strangers send forms, so they are short. What is longer is refused before it is read. */
const MOST_BYTES = 64 * 1024
const MOST_FIELDS = 1_000

export async function readForm(body: Uint8Array, type: string): Promise<Form> {
  if (body.length > MOST_BYTES || (URL_ENCODED.test(type) && separators(body) >= MOST_FIELDS)) throw tooMuch()
  const entries = [...(await parsed(body, type))]
  if (entries.length > MOST_FIELDS) throw tooMuch()
  const form = new Map<string, string>()
  for (const [name, value] of entries) {
    if (typeof value !== 'string')
      throw new HttpProblem('invalid-input', `'${name}' is a file, and no file is taken here; send a link to it`)
    if (!form.has(name)) form.set(name, value)
  }
  return form
}

async function parsed(body: Uint8Array, type: string): Promise<FormData> {
  try {
    return await new Response(body as Uint8Array<ArrayBuffer>, { headers: { 'content-type': type } }).formData()
  } catch {
    throw new HttpProblem('invalid-input', 'the form could not be read', {
      problems: [{ path: '$', message: 'is not a form' }],
    })
  }
}

const AMPERSAND = 0x26
const separators = (body: Uint8Array): number =>
  body.reduce((count, byte) => (byte === AMPERSAND ? count + 1 : count), 0)

function tooMuch(): HttpProblem {
  return new HttpProblem(
    'too-large',
    `a form may have at most ${MOST_FIELDS} fields and ${MOST_BYTES} bytes; nothing was written. ` +
      `Send less, or a link to it`,
  )
}
