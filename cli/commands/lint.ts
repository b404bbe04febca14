import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Problem } from '../../sdk/base/errors.ts'
import type { Known } from '../../sdk/definitions/validate.ts'
import { InvalidInputError } from '../../sdk/http-client/index.ts'
import { nameOf, readDefinition } from '../definition-file.ts'
import { loadEntry } from '../dev/load-entry.ts'
import { problemLines } from '../problem-text.ts'
import { Session } from '../session.ts'

interface LintFlags {
  entry?: string
}

export function addLint(program: Command): void {
  program
    .command('lint')
    .summary('say what is wrong with a definition')
    .description(
      'Prints all problems of a definition, each with its path. Handlers and workflows are checked with ' +
        '--entry, or with --url.',
    )
    .argument('<file>', 'a JSON file')
    .option('--entry <file>', 'the file that exports the handlers and workflows')
    .action(lint)
}

async function lint(file: string, flags: LintFlags, command: Command): Promise<void> {
  const session = Session.of(command)
  const json = readDefinition(file)
  const { url } = command.optsWithGlobals<{ url?: string }>()
  // Loaded on demand: other commands need no validator.
  const [{ findProblems, findWarnings }, { Definition }] = await Promise.all([
    import('../../sdk/definitions/validate.ts'),
    import('../../sdk/definitions/schema.ts'),
  ])
  const problems = findProblems(json, flags.entry === undefined ? {} : await knownIn(flags.entry))
  // Names that the local code has are not requested from the server.
  if (problems.length === 0 && url !== undefined)
    problems.push(...(await problemsAt(session, nameOf(json, file), json)))
  const warnings = problems.length > 0 ? [] : findWarnings(Definition.parse(json))
  const lines = [...problemLines(problems, 'problem'), ...problemLines(warnings, 'warning')]
  session.print(lines.join('\n') || `${file} is fine`, { problems, warnings })
  if (problems.length > 0) process.exitCode = 1
}

async function knownIn(entry: string): Promise<Known> {
  const { workflows, handlers } = await loadEntry(resolve(entry), () => {})
  return { workflows: new Set(workflows.map(({ name }) => name)), handlers: new Set(handlers.map(({ name }) => name)) }
}

async function problemsAt({ client }: Session, name: string, json: unknown): Promise<readonly Problem[]> {
  try {
    await client.checkDefinition(name, json)
    return []
  } catch (error) {
    if (error instanceof InvalidInputError) return error.problems
    throw error
  }
}
