import type { Context } from 'hono'
import { UnknownWorkflowError } from '../../../sdk/index.ts'
import { readJson } from '../body.ts'
import { Checks } from '../checks.ts'
import { ref } from '../openapi-schemas.ts'
import { HttpProblem } from '../problem.ts'
import { type Api, json, type Route } from '../route.ts'

const getSchema: Route = {
  method: 'GET',
  path: '/definitions/schema.json',
  operationId: 'getDefinitionSchema',
  needs: 'read',
  summary: 'The JSON Schema of definitions, for editors.',
  responses: { 200: { description: 'JSON Schema.', schema: { type: 'object' } } },
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
  responses: { 200: { description: 'All of them.', schema: ref('Definitions') } },
  problems: [],
  async handle(_c, { client }) {
    const all = await client.definitions.list()
    return json({
      definitions: all.map((each) => ({ ...each, createdAt: iso(each.createdAt), updatedAt: iso(each.updatedAt) })),
    })
  },
}

const putDefinition: Route = {
  method: 'PUT',
  path: '/definitions/{name}',
  operationId: 'putDefinition',
  needs: 'operate',
  summary: 'Save a definition. Versions are kept and never change; the same content again makes none.',
  query: { check: { description: 'Saves nothing, and only says what is wrong with it.', schema: { type: 'boolean' } } },
  body: ref('Definition'),
  responses: {
    201: {
      description: 'A new version, on which runs that are started from now on will be.',
      schema: ref('SavedDefinition'),
    },
    200: { description: 'The latest version says the same; or it was only checked.', schema: ref('SavedDefinition') },
  },
  problems: ['invalid-input', 'malformed-json', 'conflict', 'too-large', 'unsupported-media-type'],
  async handle(c, api) {
    const name = c.req.param('name')!
    const definition = await readJson(c, api.bodyLimit)
    if (readCheck(c)) return json({ name, warnings: (await api.client.definitions.check(name, definition)).warnings })
    const { version, isNew, createdAt, warnings } = await api.client.definitions.save(name, definition)
    return json({ name, version, createdAt: iso(createdAt), warnings }, isNew ? 201 : 200, {
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
  query: { version: { description: 'Default: the latest.', schema: { type: 'integer', minimum: 1 } } },
  responses: { 200: { description: 'The definition.', schema: ref('StoredDefinition') } },
  problems: ['invalid-input', 'unknown-definition'],
  async handle(c, api) {
    const name = c.req.param('name')!
    const { version, createdAt, definition } = await orNotFound(api, api.client.definitions.get(name, readVersion(c)))
    return json({ name, version, createdAt: iso(createdAt), definition })
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

const iso = (at: number): string => new Date(at).toISOString()

function readVersion(c: Context): number | undefined {
  const version = c.req.query('version')
  const checks = new Checks()
  checks.require('?version', version === undefined || /^[1-9]\d{0,9}$/.test(version), 'must be a whole number from 1')
  checks.throwIfAny()
  return version === undefined ? undefined : Number(version)
}

function readCheck(c: Context): boolean {
  const check = c.req.query('check')
  const checks = new Checks()
  checks.require('?check', check === undefined || check === 'true' || check === 'false', 'must be true or false')
  checks.throwIfAny()
  return check === 'true'
}

async function orNotFound<T>({ client }: Api, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof UnknownWorkflowError)) throw error
    const known = (await client.definitions.list()).map(({ name }) => name)
    throw new HttpProblem('unknown-definition', error.message, { known })
  }
}
