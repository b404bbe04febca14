import { jsonSchemaOf } from '../../../sdk/base/schema.ts'
import type { WorkflowJson } from '../../../sdk/http-api/about.ts'
import { type AnyRequest, type AnySignal, isRequest } from '../../../sdk/workflow.ts'
import { json, type Route } from '../route.ts'

const listWorkflows: Route = {
  method: 'GET',
  path: '/workflows',
  operationId: 'listWorkflows',
  needs: 'read',
  summary: 'The workflows that can be started here, and their versions; of a stored definition only the latest.',
  responses: { 200: { description: 'By name.', shape: 'Workflows' } },
  problems: [],
  async handle(_c, { client: { registry, definitions } }) {
    const inCode = registry
      .names()
      .map((name) => ({ name, versions: registry.versionsOf(name), latest: registry.versionsOf(name).at(-1) }))
    const stored = (await definitions.list()).filter(({ name }) => !registry.has(name))
    return json({
      workflows: [
        ...inCode,
        ...stored.map(({ name, version }) => ({ name, versions: [version], latest: version })),
      ].sort(byName),
    })
  },
}

const getWorkflow: Route = {
  method: 'GET',
  path: '/workflows/{name}',
  operationId: 'getWorkflow',
  needs: 'read',
  summary: 'One workflow, and what it takes: the JSON Schemas of its input and of the signals that it declares.',
  responses: { 200: { description: 'Its latest version.', shape: 'Workflow' } },
  problems: ['unknown-workflow'],
  async handle(c, { client: { registry, definitions } }) {
    const name = c.req.param('name')!
    const { version: latest, options } = await definitions.toStart(name)
    const [input, output] = [jsonSchemaOf(options.input), jsonSchemaOf(options.output)]
    const described: WorkflowJson = {
      name,
      versions: registry.has(name) ? registry.versionsOf(name) : [latest],
      latest,
      ...(input && { input }),
      ...(output && { output }),
      signals: (options.signals ?? []).map(signalToJson),
      ...(!registry.has(name) && { isStored: true }),
    }
    return json(described)
  },
}

function signalToJson(signal: AnySignal | AnyRequest): WorkflowJson['signals'][number] {
  const payload = jsonSchemaOf(signal.schema)
  return { name: signal.name, kind: isRequest(signal) ? 'request' : 'signal', ...(payload && { payload }) }
}

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)

const health: Route = {
  method: 'GET',
  path: '/healthz',
  operationId: 'health',
  needs: 'read',
  summary: 'Answers as long as the process does.',
  responses: { 200: { description: 'Well.', shape: 'Health' } },
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
  responses: { 200: { description: 'OpenAPI 3.1.', shape: 'JsonDocument' } },
  problems: [],
  handle: async (_c, api) => json(await api.openapi()),
}

export const about = [listWorkflows, getWorkflow, health, openapi]
