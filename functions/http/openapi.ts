import { ref, SCHEMAS } from './openapi-schemas.ts'
import { PROBLEMS, type ProblemKind } from './problem.ts'
import type { JsonSchema, Route } from './route.ts'

/** What any request may meet. */
const ALWAYS: ProblemKind[] = ['throttled', 'internal', 'unavailable']

type AnyRoute = Omit<Route, 'handle'>

/** The OpenAPI 3.1 document of the routes. */
export function openapiOf(routes: readonly AnyRoute[], isGuarded: boolean): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route, isGuarded)
  return {
    openapi: '3.1.0',
    info: { title: 'Overwinter', version: '1', description: 'Starts, watches and steers durable workflow runs.' },
    paths,
    components: {
      schemas: SCHEMAS,
      ...(isGuarded && { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } }),
    },
    ...(isGuarded && { security: [{ bearer: [] }] }),
  }
}

function operation(route: AnyRoute, isGuarded: boolean): object {
  const kinds = [
    ...new Set([...route.problems, ...(isGuarded && !isPublic(route) ? (['unauthorized'] as const) : []), ...ALWAYS]),
  ]
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(route.replacedBy !== undefined && { deprecated: true, description: `Ask ${route.replacedBy} instead.` }),
    ...(isPublic(route) && { security: [] }),
    parameters: parameters(route),
    ...(route.body && {
      requestBody: { content: { ...content('application/json', route.body).content, ...otherBodies(route) } },
    }),
    responses: { ...successes(route), ...refusals(kinds) },
  }
}

const isPublic = ({ isOpen, isCapability }: AnyRoute): boolean => isOpen === true || isCapability === true

function otherBodies({ alsoTakes = [] }: AnyRoute): object {
  return Object.fromEntries(alsoTakes.map((type) => [type, { schema: {} }]))
}

function parameters(route: AnyRoute): object[] {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const inQuery = Object.entries(route.query ?? {}).map(([name, { description, schema }]) => ({
    name,
    in: 'query',
    description,
    schema: schema ?? { type: 'string' },
  }))
  const key = {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'Makes a repeat of this request harmless.',
    schema: { type: 'string', maxLength: 100 },
  }
  return [...inPath, ...inQuery, ...(route.takesKey ? [key] : [])]
}

function successes(route: AnyRoute): Record<string, object> {
  return Object.fromEntries(
    Object.entries(route.responses).map(([code, { description, schema, type = 'application/json' }]) => [
      code,
      { description, ...(schema && content(type, schema)) },
    ]),
  )
}

/** Several kinds may share a status. */
function refusals(kinds: readonly ProblemKind[]): Record<string, object> {
  const byStatus = Map.groupBy(kinds, (kind) => PROBLEMS[kind].status)
  return Object.fromEntries(
    [...byStatus].map(([code, group]) => [
      code,
      {
        description: group.map((kind) => `${PROBLEMS[kind].title} (\`${kind}\`)`).join('; '),
        ...content('application/problem+json', ref('Problem')),
      },
    ]),
  )
}

const content = (type: string, schema: JsonSchema) => ({ content: { [type]: { schema } } })
