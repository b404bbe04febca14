import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Running, root } from '../cli/fixture.ts'

export interface Snippet {
  name: string
  code: string
}

const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
]

/** Every TypeScript snippet in README and docs. */
export const snippets: Snippet[] = pages.flatMap((page) => {
  const blocks = [...readFileSync(join(root, page), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)]
  return blocks.map(([, code], index) => ({ name: `${page.replaceAll(/\W/g, '_')}_${index}.ts`, code: code! }))
})

/** A folder with all of them, such as a reader's. */
export class SnippetFolder {
  readonly folder: string

  constructor(name: string) {
    this.folder = join(root, 'test/docs/.snippets', name)
    rmSync(this.folder, { recursive: true, force: true })
    mkdirSync(join(this.folder, 'workflows'), { recursive: true })
    // What the guides speak of as the reader's own workflows.
    this.write('workflows/index.ts', `export * from '../../../../../workflows/index.ts'\n`)
    const codec = snippets.find(({ code }) => code.startsWith('// workflows/codec.ts'))!
    this.write('workflows/codec.ts', `export { default } from '../${codec.name}'\n`)
    for (const { name, code } of snippets) this.write(name, `${code}\nexport {}\n`)
    this.write('tsconfig.json', JSON.stringify({ extends: '../../../../tsconfig.json', include: ['*.ts'] }))
  }

  /** All of these in one process, in which each finds what it imports loaded by those before it. */
  async run(which: Snippet[], env: Record<string, string> = {}): Promise<Ends> {
    const report = this.write('report.jsonl', '')
    const files = which.map(({ name }) => join(this.folder, name))
    const args = ['--conditions=overwinter-source', join(root, 'test/docs/run-snippets.ts'), report, ...files]
    await using running = new Running(process.execPath, args, { cwd: this.folder, env })
    const code = await running.exited
    const lines = readFileSync(report, 'utf8').split('\n').filter(Boolean)
    const told = lines.map((line) => JSON.parse(line) as { file: string; problem?: string })
    const ends = new Map(told.map(({ file, problem }) => [file, problem ?? 'ran to its end']))
    return {
      code,
      stderr: running.stderr,
      of: ({ name }) => ends.get(join(this.folder, name)) ?? `did not come to its end\n${running.stderr}`,
    }
  }

  private write(name: string, text: string): string {
    writeFileSync(join(this.folder, name), text)
    return join(this.folder, name)
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** How it went: the process, and each snippet in it. */
export interface Ends {
  code: number | null
  stderr: string
  of: (snippet: Snippet) => string
}
