import { HttpProblem } from './problem.ts'

const FORM = /^(application\/x-www-form-urlencoded|multipart\/form-data)\s*(;|$)/i
const URL_ENCODED = /^application\/x-www-form-urlencoded/i

/** What curl sends when nobody told it otherwise says it is a form; JSON begins with what no form can begin with. */
export function isForm(body: Uint8Array, type: string | undefined): boolean {
  if (type === undefined || !FORM.test(type)) return false
  return !(URL_ENCODED.test(type) && (body.length === 0 || JSON_BEGINS.has(body[0]!)))
}
const JSON_BEGINS: ReadonlySet<number> = new Set([...Buffer.from('{[" \n\r\t')])

export async function readForm(body: Uint8Array, type: string): Promise<FormData> {
  let form: FormData
  try {
    form = await new Response(body as Uint8Array<ArrayBuffer>, { headers: { 'content-type': type } }).formData()
  } catch {
    throw new HttpProblem('invalid-input', 'the form could not be read', { problems: [{ path: '$', message: 'is not a form' }] })
  }
  for (const [name, value] of form)
    if (typeof value !== 'string') throw new HttpProblem('invalid-input', `'${name}' is a file, and no file is taken here; send a link to it`)
  return form
}
