import type { Problem } from '../base/errors.ts'
import type { DefinitionClient } from '../client/workflow-client.ts'
import type { DefinitionSummary, SavedDefinition } from '../definitions/catalogue.ts'
import type { StoredVersion } from '../definitions/definition-store.ts'
import type {
  CheckedDefinitionJson,
  DefinitionsJson,
  SavedDefinitionJson,
  StoredDefinitionJson,
} from '../http-api/definitions.ts'
import { pathOf, type Requests } from './requests.ts'
import { definitionFromJson } from './wire.ts'

const definitionPath = (name: string): string => pathOf('definitions', name)

/** Stored definitions over HTTP. */
export class RemoteDefinitions implements DefinitionClient {
  private readonly requests: Requests

  constructor(requests: Requests) {
    this.requests = requests
  }

  async putDefinition(name: string, definition: unknown): Promise<SavedDefinition> {
    const { status, body } = await this.requests.put<SavedDefinitionJson>(definitionPath(name), definition)
    return { ...body, createdAt: Date.parse(body.createdAt), isNew: status === 201 }
  }

  async checkDefinition(name: string, definition: unknown): Promise<{ warnings: Problem[] }> {
    const path = definitionPath(name)
    const { body } = await this.requests.put<CheckedDefinitionJson>(path, definition, { check: 'true' })
    return { warnings: body.warnings }
  }

  async getDefinition(name: string, version?: number): Promise<StoredVersion> {
    const query = { version: version?.toString() }
    const stored = await this.requests.read<StoredDefinitionJson>(definitionPath(name), query)
    return { definition: stored.definition, version: stored.version, createdAt: Date.parse(stored.createdAt) }
  }

  async listDefinitions(): Promise<DefinitionSummary[]> {
    const { definitions } = await this.requests.read<DefinitionsJson>('/definitions')
    return definitions.map(definitionFromJson)
  }

  deleteDefinition(name: string): Promise<void> {
    return this.requests.delete(definitionPath(name))
  }
}
