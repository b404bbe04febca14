import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PATIENCE_MS } from '../outside/patience.ts'

const root = new URL('../..', import.meta.url).pathname
const folder = join(root, 'test/docs/.snippets')

const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
]
const snippets = pages.flatMap((page) => {
  const blocks = [...readFileSync(join(root, page), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)]
  return blocks.map(([, code], index) => ({ name: `${page.replaceAll(/\W/g, '_')}_${index}.ts`, page, code: code! }))
})

describe('every TypeScript snippet in README and docs', () => {
  beforeAll(() => {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    // What the guides speak of as the reader's own workflows.
    mkdirSync(join(folder, 'workflows'))
    writeFileSync(join(folder, 'workflows/index.ts'), `export * from '../../../../workflows/index.ts'\n`)
    writeFileSync(
      join(folder, 'workflows/codec.ts'),
      `export { default } from '../${snippets.find(({ code }) => code.startsWith('// workflows/codec.ts'))!.name}'\n`,
    )
    for (const { name, code } of snippets) writeFileSync(join(folder, name), `${code}\nexport {}\n`)
    const tsconfig = { extends: '../../../tsconfig.json', include: ['*.ts'] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('compiles', () => {
    expect(snippets.length).toBeGreaterThan(1)
    execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], { stdio: 'pipe', encoding: 'utf8' })
  })

  it.each(snippets)('runs: $name', ({ name }) => {
    execFileSync(process.execPath, ['--conditions=overwinter-source', join(folder, name)], {
      cwd: folder,
      stdio: 'pipe',
      encoding: 'utf8',
      timeout: PATIENCE_MS,
    })
    expect(existsSync(join(folder, name))).toBe(true)
  })
})
