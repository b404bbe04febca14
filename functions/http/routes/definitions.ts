import { definitionSummaryToJson, savedDefinitionToJson, storedDefinitionToJson } from '../../../sdk/http-api/encode.ts'
import { UnknownWorkflowError } from '../../../sdk/index.ts'
import { readJson } from '../body.ts'
import { Checks } from '../checks.ts'
import { HttpProblem } from '../problem.ts'
import { bodyOf, queryOf } from '../request.ts'
import { type Api, json, type Route } from '../route.ts'

const shapes = () => import('../../../sdk/http-api/definitions.ts')
const Definition = bodyOf(shapes, 'Definition')
const PutQuery = queryOf(shapes, 'PutQuery')
const VersionQuery = queryOf(shapes, 'VersionQuery')

const getSchema: Route = {
  method: 'GET',
  path: '/definitions/schema.json',
  operationId: 'getDefinitionSchema',
  needs: 'read',
  summary: 'The JSON Schema of definitions, for editors.',
  responses: { 200: { description: 'JSON Schema.', shape: 'JsonDocument' } },
  problems: [],
  async handle() {
    // Loaded late, like the validator: it is large, and starting a run needs none of it.
    const { definitionJsonSchema } = await import('../../../sdk/definitions/schema.ts')
    return json(definitionJsonSchema())
  },
}

const listDefinitions: Route = {
  method: 'GET',
  path: '/definitions',
  operationId: 'listDefinitions',
  needs: 'read',
  summary: 'Stored definitions, by name, each with its latest version.',
  responses: { 200: { description: 'All of them.', shape: 'Definitions' } },
  problems: [],
  async handle(_c, { client }) {
    const all = await client.definitions.list()
    return json({
      definitions: all.map(definitionSummaryToJson),
    })
  },
}

const putDefinition: Route = {
  method: 'PUT',
  path: '/definitions/{name}',
  operationId: 'putDefinition',
  needs: 'operate',
  summary: 'Save a definition. Versions are kept and never change; the same content again makes none.',
  query: PutQuery,
  body: Definition,
  responses: {
    201: {
      description: 'A new version, on which runs that are started from now on will be.',
      shape: 'SavedDefinition',
    },
    200: {
      description: 'The latest version says the same; or it was only checked.',
      shape: ['SavedDefinition', 'CheckedDefinition'],
    },
  },
  problems: ['invalid-input', 'malformed-json', 'conflict', 'too-large', 'unsupported-media-type'],
  async handle(c, api) {
    const name = c.req.param('name')!
    const definition = await readJson(c, api.bodyLimit)
    const checks = new Checks()
    const { check } = await PutQuery.read(c, checks)
    checks.throwIfAny()
    if (check === 'true')
      return json({ name, warnings: (await api.client.definitions.check(name, definition)).warnings })
    const saved = await api.client.definitions.save(name, definition)
    return json(savedDefinitionToJson({ ...saved, name }), saved.isNew ? 201 : 200, {
      location: `/definitions/${encodeURIComponent(name)}`,
    })
  },
}

const getDefinition: Route = {
  method: 'GET',
  path: '/definitions/{name}',
  operationId: 'getDefinition',
  needs: 'read',
  summary: 'One definition, in its latest or the given version.',
  query: VersionQuery,
  responses: { 200: { description: 'The definition.', shape: 'StoredDefinition' } },
  problems: ['invalid-input', 'unknown-definition'],
  async handle(c, api) {
    const name = c.req.param('name')!
    const checks = new Checks()
    const { version: asked } = await VersionQuery.read(c, checks)
    checks.throwIfAny()
    const stored = await orNotFound(
      api,
      api.client.definitions.get(name, asked === undefined ? undefined : Number(asked)),
    )
    return json(storedDefinitionToJson(name, stored))
  },
}

const deleteDefinition: Route = {
  method: 'DELETE',
  path: '/definitions/{name}',
  operationId: 'deleteDefinition',
  needs: 'operate',
  summary: 'Delete a definition; refused while runs of it are alive.',
  responses: { 204: { description: 'Deleted.' } },
  problems: ['unknown-definition', 'conflict'],
  async handle(c, api) {
    await orNotFound(api, api.client.definitions.delete(c.req.param('name')!))
    return new Response(null, { status: 204 })
  },
}

/** In this order: a definition cannot be called like the schema. */
export const definitions = [getSchema, listDefinitions, putDefinition, getDefinition, deleteDefinition]

async function orNotFound<T>({ client }: Api, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof UnknownWorkflowError)) throw error
    const known = (await client.definitions.list()).map(({ name }) => name)
    throw new HttpProblem('unknown-definition', error.message, { known })
  }
}
