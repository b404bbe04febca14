import type { Context } from 'hono'
import { HttpProblem, type ProblemKind } from './problem.ts'

/** What a route that takes JSON can refuse before it looks at it. */
export const BODY_PROBLEMS: ProblemKind[] = ['malformed-json', 'too-large', 'unsupported-media-type']

/**
 * Lambda takes 6 MB in all, and API Gateway hands the body over as a JSON string in a JSON event, every quote
 * escaped.
 */
export const DEFAULT_BODY_LIMIT = 5 * 1024 * 1024

/** Deeper data could overflow the stack of code that walks it later. */
const MAX_DEPTH = 500

/** What curl and fetch send unless a type is given is read as JSON too. */
const READ_AS_JSON = /^(application\/([\w.+-]+\+)?json|text\/plain|application\/x-www-form-urlencoded)\s*(;|$)/i

/** What goes wrong on a command line. */
const HOW_TO_QUOTE =
  `Texts and names need double quotes, and in a shell all of it needs single ones: -d ` + `'{"input":{"name":"Ada"}}'`

/** The body as JSON; undefined for an empty one. */
export async function readJson(c: Context, limit: number): Promise<unknown> {
  return jsonOf(await readText(c, limit), c.req.header('content-type'))
}

export function jsonOf(text: string, type: string | undefined): unknown {
  if (text === '') return undefined
  if (type !== undefined && !READ_AS_JSON.test(type))
    throw new HttpProblem(
      'unsupported-media-type',
      `the body is to be JSON, sent as application/json, not as '${type}'`,
    )
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const why = (error as Error).message
    throw new HttpProblem('malformed-json', `the body is not JSON: ${why}. ${HOW_TO_QUOTE}`, {
      problems: [{ path: '$', message: 'is not JSON' }],
    })
  }
  if (text.length > 2 * MAX_DEPTH && isTooDeep(text)) {
    throw new HttpProblem('invalid-input', 'the body is nested too deeply', {
      problems: [{ path: '$', message: `may be nested at most ${MAX_DEPTH} deep` }],
    })
  }
  return value
}

function readText(c: Context, limit: number): Promise<string> {
  return read(
    c,
    limit,
    () => c.req.text(),
    (bytes) => new TextDecoder().decode(bytes),
  )
}

/** The body as it came. */
export function readBytes(c: Context, limit: number): Promise<Uint8Array> {
  return read(
    c,
    limit,
    async () => new Uint8Array(await c.req.arrayBuffer()),
    (bytes) => bytes,
  )
}

async function read<T>(c: Context, limit: number, whole: () => Promise<T>, made: (bytes: Uint8Array) => T): Promise<T> {
  const declared = c.req.header('content-length')
  try {
    if (declared === undefined) return made(await readCapped(c.req.raw.body, limit))
    if (Number(declared) > limit) throw tooLarge(limit)
    return await whole()
  } catch (error) {
    if (error instanceof HttpProblem) throw error
    throw new HttpProblem('malformed-json', 'the body broke off before its end; send it again')
  }
}

/** A body of undeclared length is read no further than it may be long. */
async function readCapped(body: ReadableStream<Uint8Array> | null, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge(limit)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

export function tooLarge(limit: number): HttpProblem {
  return new HttpProblem(
    'too-large',
    `a body may have at most ${limit} bytes; nothing was written. Store what is larger elsewhere and send a link to it`,
  )
}

/** Whether JSON is nested too deeply. Looks at the text: walking the value is what has to be avoided. */
export function isTooDeep(text: string): boolean {
  let depth = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (inString) {
      if (char === '\\') i++
      else if (char === '"') inString = false
    } else if (char === '"') inString = true
    else if (char === '[' || char === '{') {
      if (++depth > MAX_DEPTH) return true
    } else if (char === ']' || char === '}') depth--
  }
  return false
}
