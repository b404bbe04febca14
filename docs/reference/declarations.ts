import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Node, SyntaxKind } from 'typescript/unstable/ast'
import { API, type Checker, type Project, SymbolFlags, type Symbol as TsSymbol } from 'typescript/unstable/sync'

const ROOT = join(import.meta.dirname, '../..')

export interface EntryPoint {
  /** What is imported: `overwinter/client`. */
  name: string
  exports: Declared[]
}

export interface Declared {
  name: string
  /** In the words of its doc comment. */
  comment: string
  /** As a declaration file has it, without what is private. */
  code: string
  /** Where it is declared; the same for each entry point that exports it. */
  place: string
}

/** What the package exports, by entry point, as the compiler sees it: from declaration files that it writes for the purpose. */
export function entryPoints(): EntryPoint[] {
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-reference-'))
  try {
    const sources = publicSources()
    writeDeclarations(folder)
    const files = Object.values(sources).map((file) => file.replace(/\.ts$/, '.d.ts'))
    const config = join(folder, 'tsconfig.json')
    writeFileSync(
      config,
      JSON.stringify({ compilerOptions: { module: 'nodenext', target: 'es2024', types: [], noEmit: true, allowImportingTsExtensions: true }, files }),
    )
    const api = new API({ cwd: folder })
    try {
      const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)!
      return Object.keys(sources).map((name, i) => ({ name, exports: exportsOf(project, join(folder, files[i]!)) }))
    } finally {
      api.close()
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function publicSources(): Record<string, string> {
  const { name, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { name: string; exports: Record<string, unknown> }
  const sources = Object.entries(exports).flatMap(([path, target]) =>
    typeof target === 'object' ? [[name + path.slice(1), (target as { 'overwinter-source': string })['overwinter-source'].slice(2)]] : [],
  )
  return Object.fromEntries(sources) as Record<string, string>
}

function writeDeclarations(folder: string): void {
  const args = ['-p', ROOT, '--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--outDir', folder]
  try {
    execFileSync(join(ROOT, 'node_modules/.bin/tsc'), args, { stdio: 'pipe' })
  } catch {
    // Errors in the code are for `npm run check` to tell; declarations are written all the same.
  }
}

function exportsOf({ program, checker }: Project, file: string): Declared[] {
  const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!
  const exported = checker.getExportsOfModule(module).map((symbol) => declared(symbol.name, original(symbol, checker), checker))
  return exported.sort((a, b) => (a.name < b.name ? -1 : 1))
}

function original(symbol: TsSymbol, checker: Checker): TsSymbol {
  return symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}

function declared(name: string, symbol: TsSymbol, checker: Checker): Declared {
  const nodes = symbol.declarations.map((handle) => statementOf(handle.resolve()!))
  // Overloads have comments of their own, which are best read where they stand.
  const comment = nodes.length === 1 ? checker.getDocumentationCommentOfSymbol(symbol).trim() : ''
  const code = nodes.map((node) => codeOf(node, nodes.length > 1)).join('\n')
  const { fileName } = nodes[0]!.getSourceFile()
  return { name, comment, code, place: `${fileName}:${nodes[0]!.pos}` }
}

/** `const` is declared in a list in a statement. */
function statementOf(node: Node): Node {
  return node.kind === SyntaxKind.VariableDeclaration ? node.parent.parent : node
}

function codeOf(node: Node, withComment: boolean): string {
  const { text } = node.getSourceFile()
  let code = ''
  let at = node.getStart(undefined, withComment)
  for (const member of hidden(node)) {
    code += text.slice(at, member.pos)
    at = member.end
  }
  code += text.slice(at, node.end)
  return code.replaceAll(/^(export )?(declare )?/gm, '').replaceAll(/^( {4})+/gm, (spaces) => ' '.repeat(spaces.length / 2))
}

function hidden(node: Node): Node[] {
  const members: Node[] = []
  if (node.kind !== SyntaxKind.ClassDeclaration) return members
  node.forEachChild((member) => {
    const isPrivate = /^(#|private\b)/.test(member.getText())
    if (isPrivate) members.push(member)
  })
  return members
}
