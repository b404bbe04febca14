import type { Context } from 'hono'
import type { Scope } from '../../../../sdk/tasks/tokens.ts'
import type { Workers } from '../../../../sdk/tasks/workers.ts'
import { HttpProblem } from '../../problem.ts'

/** Workers have tokens of their own, beside those of other callers of the API. */
export async function scopeOf(c: Context, { tokens }: Workers): Promise<Scope> {
  const [, token] = /^Bearer +(\S+)$/i.exec(c.req.header('authorization') ?? '') ?? []
  const scope = token === undefined ? undefined : await tokens.scopeOf(token)
  if (scope) return scope
  throw new HttpProblem(
    'unauthorized',
    "send a worker's token: 'Authorization: Bearer <token>'; `overwinter tokens create` makes one",
    {
      headers: { 'www-authenticate': 'Bearer' },
    },
  )
}

export function requireTypes(scope: Scope, types: readonly string[]): void {
  const refused = types.filter((type) => !scope.allows(type))
  if (refused.length > 0)
    throw new HttpProblem(
      'forbidden',
      `this token is not good for tasks of type ${refused.map((type) => `'${type}'`).join(', ')}`,
    )
}
