import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const page = readFileSync(new URL('../../docs/moving.md', import.meta.url), 'utf8')
const folder = new URL('examples/', import.meta.url)

const rows = [...page.matchAll(/^\| [^|(]+ \(`([\w-]+)\.ts`\) \| `[\w/.-]+` \| (\d+) \| (\d+) \|$/gm)].map(
  ([, name, theirs, ours]) => ({
    name: name!,
    theirs: Number(theirs),
    ours: Number(ours),
  }),
)

/** As the page says it counts: no imports, no blank lines, no comments. The examples are 80 columns wide, as the originals are. */
function linesOf(file: string): number {
  const code = readFileSync(new URL(file, folder), 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/^import [\s\S]*? from '[^']+'$/gm, '')
    .replaceAll(/^\s*\/\/.*$/gm, '')
  return code.split('\n').filter((line) => line.trim() !== '').length
}

describe('the table of examples in docs/moving.md', () => {
  it('has a row for each example, and each example has a test', () => {
    const examples = readdirSync(folder).filter((file) => file !== 'outside.ts')
    expect(rows.map(({ name }) => `${name}.ts`).sort()).toEqual(examples.sort())
    expect(rows.filter(({ name }) => !existsSync(new URL(`${name}.test.ts`, import.meta.url)))).toEqual([])
    expect(rows).toHaveLength(12)
  })

  it.each(rows)('says how many lines $name.ts has', ({ name, ours }) => {
    expect(linesOf(`${name}.ts`)).toBe(ours)
  })

  it('adds them up', () => {
    const sum = (which: 'theirs' | 'ours') => rows.reduce((total, row) => total + row[which], 0)
    expect(page).toContain(`| all twelve | | ${sum('theirs')} | ${sum('ours')} |`)
  })
})
