import type { Declared, EntryPoint } from './declarations.ts'

const HEAD = `# Reference

Everything that the package exports, with the comments of the source. Generated from the types by \`npm run docs:reference\`; a test
compares it with them. For how things are used, read the [guides](../README.md#how-it-is-built-and-how-it-is-tested).
`

export function referencePage(entryPoints: EntryPoint[]): string {
  /** Where something was first explained. */
  const explained = new Map<string, string>()
  const contents = entryPoints.map(({ name, exports }) => `- [\`${name}\`](#${anchor(name)}): ${exports.map((each) => `\`${each.name}\``).join(', ')}`)
  const chapters = entryPoints.map(({ name, exports }) => {
    const [again, first] = [exports.filter(({ place }) => explained.has(place)), exports.filter(({ place }) => !explained.has(place))]
    for (const { place } of first) explained.set(place, name)
    return [`## \`${name}\``, ...first.map(section), ...repeated(again, explained)].join('\n\n')
  })
  return `${[HEAD, contents.join('\n'), ...chapters].join('\n\n').replaceAll(/\n{3,}/g, '\n\n')}\n`
}

function section({ name, comment, code }: Declared): string {
  return [`### ${name}`, ...(comment === '' ? [] : [comment]), `\`\`\`typescript\n${code}\n\`\`\``].join('\n\n')
}

function repeated(exports: Declared[], explained: Map<string, string>): string[] {
  const from = Map.groupBy(exports, ({ place }) => explained.get(place)!)
  return [...from].map(([entry, each]) => `As in [\`${entry}\`](#${anchor(entry)}): ${each.map(({ name }) => `\`${name}\``).join(', ')}.`)
}

/** As GitHub makes it of a heading. */
function anchor(heading: string): string {
  return heading.toLowerCase().replaceAll(/[^\w-]/g, '')
}
