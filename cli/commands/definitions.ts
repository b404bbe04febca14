import type { Command } from 'commander'
import type { DefinitionSummary } from '../../sdk/definitions/catalogue.ts'
import { definitionSummaryToJson, savedDefinitionToJson, storedDefinitionToJson } from '../../sdk/http-api/encode.ts'
import { clockTime } from '../../sdk/views/moments.ts'
import { wholeArgument } from '../arguments.ts'
import { nameOf, readDefinition } from '../definition-file.ts'
import { problemLines } from '../problem-text.ts'
import { Session } from '../session.ts'

export function addDefinitions(program: Command): void {
  const command = program
    .command('definitions')
    .summary('list, save, show or delete workflows that are data')
    .description('Lists the stored definitions, each with its latest version.')
    .action(async () => {
      const session = Session.of(command)
      const definitions = await session.client.listDefinitions()
      const text = definitions.map((definition) => line(definition, Date.now())).join('\n')
      session.print(text || 'no definitions', {
        definitions: definitions.map(definitionSummaryToJson),
      })
    })

  const put = command
    .command('put')
    .description('save a definition; the same content again makes no new version')
    .argument('<file>', 'a JSON file')
    .option('--name <name>', 'its name, where the file does not say')
    .action(async (file: string, { name }: { name?: string }) => {
      const session = Session.of(put)
      const definition = readDefinition(file)
      const saved = await session.client.putDefinition(name ?? nameOf(definition, file), definition)
      const said = saved.isNew
        ? `is saved as version ${saved.version}`
        : `has not changed since version ${saved.version}`
      session.print([`${saved.name} ${said}`, ...problemLines(saved.warnings, 'warning')].join('\n'), {
        ...savedDefinitionToJson(saved),
        isNew: saved.isNew,
      })
    })

  const get = command
    .command('get')
    .description('print a definition')
    .argument('<name>', 'its name')
    .argument('[version]', 'not the latest version but this one', wholeArgument)
    .action(async (name: string, version?: number) => {
      const session = Session.of(get)
      const stored = await session.client.getDefinition(name, version)
      session.print(JSON.stringify(stored.definition, null, 2), storedDefinitionToJson(name, stored))
    })

  const remove = command
    .command('delete')
    .description('delete a definition; refused while runs of it are alive')
    .argument('<name>', 'its name')
    .action(async (name: string) => {
      const session = Session.of(remove)
      await session.client.deleteDefinition(name)
      session.print(`${name} is deleted`, { name })
    })
}

function line({ name, version, label, updatedAt }: DefinitionSummary, now: number): string {
  return `${name}  version ${version}${label === undefined ? '' : ` (${label})`}  saved ${clockTime(updatedAt, now)}`
}
