import { ref } from '../openapi-schemas.ts'
import { json, type Route } from '../route.ts'

const listWorkflows: Route = {
  method: 'GET',
  path: '/workflows',
  operationId: 'listWorkflows',
  needs: 'read',
  summary: 'The workflows that can be started here, and their versions; of a stored definition only the latest.',
  responses: { 200: { description: 'By name.', schema: ref('Workflows') } },
  problems: [],
  async handle(_c, { client: { registry, definitions } }) {
    const all = registry.all()
    const versionsOf = (name: string) =>
      all
        .filter((workflow) => workflow.name === name)
        .map((workflow) => workflow.version)
        .sort((a, b) => a - b)
    const inCode = registry.names().map((name) => ({ name, versions: versionsOf(name), latest: versionsOf(name).at(-1) }))
    const stored = (await definitions.list()).filter(({ name }) => !registry.has(name))
    return json({ workflows: [...inCode, ...stored.map(({ name, version }) => ({ name, versions: [version], latest: version }))].sort(byName) })
  },
}

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)

const health: Route = {
  method: 'GET',
  path: '/healthz',
  operationId: 'health',
  needs: 'read',
  summary: 'Answers as long as the process does.',
  responses: { 200: { description: 'Well.', schema: { type: 'object', properties: { status: { const: 'ok' } } } } },
  problems: [],
  isOpen: true,
  handle: () => json({ status: 'ok' }),
}

const openapi: Route = {
  method: 'GET',
  path: '/openapi.json',
  operationId: 'openapi',
  needs: 'read',
  summary: 'This document.',
  responses: { 200: { description: 'OpenAPI 3.1.', schema: { type: 'object' } } },
  problems: [],
  handle: (_c, api) => json(api.openapi()),
}

export const about = [listWorkflows, health, openapi]
