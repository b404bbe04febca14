import * as z from 'zod/mini'
import * as shapes from '../../sdk/http-api/index.ts'
import { notes, type Shape } from '../../sdk/http-api/kit.ts'
import { PATH } from '../../sdk/http-api/path.ts'
import { PROBLEMS, type ProblemKind } from './problem.ts'
import type { JsonSchema, Route, ShapeName } from './route.ts'

/** What any request may meet. */
const ALWAYS: ProblemKind[] = ['throttled', 'internal', 'unavailable']

type AnyRoute = Omit<Route, 'handle'>

/** The OpenAPI 3.1 document of the routes. Loads every shape, so it is made when it is asked for. */
export async function openapiOf(routes: readonly AnyRoute[], isGuarded: boolean): Promise<object> {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = await operation(route, isGuarded)
  return {
    openapi: '3.1.0',
    info: { title: 'Overwinter', version: '1', description: 'Starts, watches and steers durable workflow runs.' },
    paths,
    components: {
      schemas: components(),
      ...(isGuarded && { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } }),
    },
    ...(isGuarded && { security: [{ bearer: [] }] }),
  }
}

const REFS = '#/components/schemas/'

const SETTINGS = {
  io: 'input',
  metadata: notes,
  unrepresentable: 'any',
  override({ jsonSchema }: { jsonSchema: JsonSchema }) {
    // Beside the format the pattern says nothing new; and that a number is safe goes without saying.
    if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    // What is not said is the same as `{}`.
    for (const word of ['additionalProperties', 'properties'])
      if (JSON.stringify(jsonSchema[word]) === '{}') delete jsonSchema[word]
    delete jsonSchema.propertyNames
    delete jsonSchema.id
  },
} as const

/** Every shape that has a name, by its name. */
function components(): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(notes, { ...SETTINGS, uri: (name) => `${REFS}${name}` })
  const named = Object.entries(schemas).map(([name, { $schema, $id, ...schema }]) => [name, schema] as const)
  return Object.fromEntries(named.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function refTo(shape: Shape): JsonSchema {
  return { $ref: `${REFS}${notes.get(shape)!.id}` }
}

const byName = new Map<string, unknown>(Object.entries(shapes))

function schemaOf(name: ShapeName | readonly ShapeName[]): JsonSchema {
  return typeof name === 'string' ? refTo(byName.get(name) as Shape) : { anyOf: name.map((each) => schemaOf(each)) }
}

async function operation(route: AnyRoute, isGuarded: boolean): Promise<object> {
  // A callback is answered without a token; a caller that shows one all the same is bound by it.
  const guard: ProblemKind[] =
    !isGuarded || route.isOpen ? [] : route.isCapability ? ['forbidden'] : ['unauthorized', 'forbidden']
  const kinds = [...new Set([...route.problems, ...guard, ...ALWAYS])]
  const { body } = route
  const schema = body && (body === 'anything' ? {} : refTo(await body.shape()))
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(route.replacedBy !== undefined && { deprecated: true, description: `Ask ${route.replacedBy} instead.` }),
    ...(isPublic(route) && { security: [] }),
    parameters: await parameters(route),
    ...(schema && {
      requestBody: { content: { ...content('application/json', schema).content, ...otherBodies(route) } },
    }),
    responses: withPages(route, { ...successes(route), ...refusals(kinds) }),
  }
}

const isPublic = ({ isOpen, isCapability }: AnyRoute): boolean => isOpen === true || isCapability === true

function otherBodies({ alsoTakes = [] }: AnyRoute): object {
  return Object.fromEntries(alsoTakes.map((type) => [type, { schema: {} }]))
}

async function parameters(route: AnyRoute): Promise<object[]> {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    const { $schema: _, description, ...schema } = z.toJSONSchema(PATH[name!]!, SETTINGS)
    return { name, in: 'path', description, required: true, schema }
  })
  const key = {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'Makes a repeat of this request harmless.',
    schema: { type: 'string', maxLength: 100 },
  }
  return [...inPath, ...(await inQuery(route)), ...(route.takesKey ? [key] : [])]
}

async function inQuery({ query }: AnyRoute): Promise<object[]> {
  if (!query) return []
  const { properties = {}, required = [] } = z.toJSONSchema(await query.shape(), SETTINGS) as {
    properties?: Record<string, JsonSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    description,
    ...(required.includes(name) && { required: true }),
    schema,
  }))
}

function successes(route: AnyRoute): Answers {
  return Object.fromEntries(
    Object.entries(route.responses).map(([code, { description, shape, type }]) => [
      code,
      {
        description,
        ...(shape !== undefined && content('application/json', schemaOf(shape))),
        ...(type !== undefined && content(type, { type: 'string' })),
      },
    ]),
  )
}

/** Several kinds may share a status. */
function refusals(kinds: readonly ProblemKind[]): Answers {
  const byStatus = Map.groupBy(kinds, (kind) => PROBLEMS[kind].status)
  return Object.fromEntries(
    [...byStatus].map(([code, group]) => [
      code,
      {
        description: group.map((kind) => `${PROBLEMS[kind].title} (\`${kind}\`)`).join('; '),
        ...content('application/problem+json', schemaOf('ProblemShape')),
      },
    ]),
  )
}

type Answers = Record<string, { content?: object }>

function withPages({ pages = [] }: AnyRoute, answers: Answers): Answers {
  const shown = pages.map((code) => {
    const answer = answers[code]!
    return [code, { ...answer, content: { ...answer.content, ...content('text/html', { type: 'string' }).content } }]
  })
  return { ...answers, ...Object.fromEntries(shown) }
}

const content = (type: string, schema: JsonSchema) => ({ content: { [type]: { schema } } })
