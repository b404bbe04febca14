import { existsSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { nodesOf } from '../../sdk/definitions/graph.ts'
import { drawMermaid } from '../../sdk/definitions/mermaid.ts'
import type { Drawn } from '../../sdk/definitions/status-colours.ts'
import { drawSvg } from '../../sdk/definitions/svg.ts'
import { readDefinition } from '../definition-file.ts'
import { Failure, withRun } from '../failure.ts'
import { problemLines } from '../problem-text.ts'
import { Session } from '../session.ts'

const FORMATS = { mermaid: drawMermaid, svg: drawSvg } as const
type Format = keyof typeof FORMATS

export function addGraph(program: Command): void {
  const graph = program
    .command('graph')
    .summary('draw a definition, or a run of one')
    .description('Draws the steps of a definition. Those of a run are coloured by how far they have come.')
    .argument('<file or run>', 'a JSON file, or the id of a run')
    .addOption(new Option('-f, --format <format>', 'how to draw it').choices(Object.keys(FORMATS)).default('mermaid'))
    .action(async (target: string, { format }: { format: Format }) => {
      const session = Session.of(graph)
      const nodes = existsSync(target)
        ? await nodesIn(target)
        : await withRun(session.client, target, () => session.client.steps(target))
      const picture = FORMATS[format](nodes)
      session.print(picture, { format, picture, steps: nodes })
    })
}

async function nodesIn(file: string): Promise<Drawn[]> {
  const json = readDefinition(file)
  // Loaded on demand: other commands need no validator.
  const [{ findProblems }, { Definition }] = await Promise.all([
    import('../../sdk/definitions/validate.ts'),
    import('../../sdk/definitions/schema.ts'),
  ])
  const problems = findProblems(json, {})
  if (problems.length > 0)
    throw new Failure([`${file} cannot be drawn:`, ...problemLines(problems, 'problem')].join('\n'))
  return nodesOf(Definition.parse(json))
}
