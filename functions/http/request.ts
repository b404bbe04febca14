import type { Context } from 'hono'
import type * as z from 'zod/mini'
import { pathStep } from '../../sdk/base/json.ts'
import type { Shape, Shaped } from '../../sdk/http-api/kit.ts'
import { readJson } from './body.ts'
import type { Checks } from './checks.ts'

/** What a route takes: the shape of its body or its query. Loaded when the first request needs it. */
export interface Taken {
  shape(): Promise<Shape>
}

export interface Body<T> extends Taken {
  /** What is wrong goes to `checks`; the fields are good once `checks.throwIfAny` has passed. */
  read(c: Context, limit: number, checks: Checks): Promise<Partial<T>>
  check(body: unknown, checks: Checks): Promise<Partial<T>>
}

export interface Query<T> extends Taken {
  read(c: Context, checks: Checks): Promise<T>
}

type NamesOf<M> = { [K in keyof M]: M[K] extends Shape ? K : never }[keyof M]
type At<M, K extends keyof M> = M[K] extends Shape ? Shaped<M[K]> : never

/** `load`: the file of the shape; `name`: what it exports the shape as. */
export function bodyOf<M extends object, K extends NamesOf<M>>(load: () => Promise<M>, name: K): Body<At<M, K>> {
  const shape = once(load, name)
  const check = async (body: unknown, checks: Checks): Promise<Partial<At<M, K>>> => {
    // An empty body is an object without fields.
    const { success, data, error } = (await shape()).safeParse(body === undefined ? {} : body)
    if (success) return data as At<M, K>
    for (const { path, message } of problemsIn(error)) checks.require(`$${pathIn(path)}`, false, message)
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as Partial<At<M, K>>) : {}
  }
  return { shape, check, read: async (c, limit, checks) => check(await readJson(c, limit), checks) }
}

/** `word` begins the path of a problem: `?limit`. */
export function queryOf<M extends object, K extends NamesOf<M>>(
  load: () => Promise<M>,
  name: K,
  word = '?',
): Query<At<M, K>> {
  const shape = once(load, name)
  return {
    shape,
    async read(c, checks) {
      const given = c.req.query()
      // Most requests have none, and need no shape for that.
      if (Object.keys(given).length === 0 && word === '?') return {} as At<M, K>
      const { success, data, error } = (await shape()).safeParse(given)
      if (success) return data as At<M, K>
      for (const { path, message } of problemsIn(error)) checks.require(`${word}${path.join('.')}`, false, message)
      return given as At<M, K>
    },
  }
}

function once<M extends object>(load: () => Promise<M>, name: keyof M): () => Promise<Shape> {
  let shape: Shape | undefined
  return async () => (shape ??= (await load())[name] as Shape)
}

interface Found {
  path: PropertyKey[]
  message: string
}

/** Unknown fields first: what is misspelt explains what is missing. */
function problemsIn({ issues }: z.core.$ZodError): Found[] {
  const unknown = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ path: [...issue.path, key], message: issue.message }))
      : [],
  )
  return [...unknown, ...issues.filter(({ code }) => code !== 'unrecognized_keys')]
}

const pathIn = (path: readonly PropertyKey[]): string =>
  path.map((key) => pathStep(typeof key === 'symbol' ? String(key) : key)).join('')
