import type { Declared, EntryPoint, Reference } from './declarations.ts'

const HEAD = `# Reference

Everything that the package exports, with the comments of the source. Generated from the types, and compared
with them by a test. How things are used is in the guides, which the [README](../README.md) lists.`

export function referencePage({ entryPoints, mentioned }: Reference): string {
  /** Maps a declaration to the entry point that explains it first. */
  const explained = new Map<number, string>()
  const chapters = entryPoints.map(({ name, exports }) => {
    const again = exports.filter(({ id }) => explained.has(id))
    const first = exports.filter(({ id }) => !explained.has(id))
    for (const { id } of first) explained.set(id, name)
    return [`## ${name}`, ...first.map(section), ...repeated(again, explained)]
  })
  const rest = [
    '## Mentioned above',
    'Types that the others are made of. They cannot be imported.',
    ...mentioned.map(section),
  ]
  return `${[HEAD, entryPoints.map(contents).join('\n'), ...chapters.flat(), ...rest].join('\n\n')}\n`
}

function contents({ name, exports }: EntryPoint): string {
  return `- [${name}](#${anchor(name)}): ${listed(exports)}`
}

function section({ name, comment, code }: Declared): string {
  return [`### ${name}`, ...(comment === '' ? [] : [comment]), `\`\`\`typescript\n${code}\n\`\`\``].join('\n\n')
}

function repeated(exports: Declared[], explained: Map<number, string>): string[] {
  const byEntry = Map.groupBy(exports, ({ id }) => explained.get(id)!)
  return [...byEntry].map(([entry, each]) => `Also, as in [${entry}](#${anchor(entry)}): ${listed(each)}.`)
}

const listed = (exports: Declared[]): string => exports.map(({ name }) => `\`${name}\``).join(', ')

/** The anchor that GitHub makes of a heading. */
const anchor = (heading: string): string => heading.toLowerCase().replaceAll(/[^\w-]/g, '')
