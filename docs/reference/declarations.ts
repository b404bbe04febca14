import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { API, type Checker, type Project, SymbolFlags, type Symbol as TsSymbol } from 'typescript/unstable/sync'
import { codeOf, mentionsOf, statementOf } from './declaration-code.ts'

const ROOT = join(import.meta.dirname, '../..')

export interface Reference {
  entryPoints: EntryPoint[]
  /** Types that those declarations mention and that cannot be imported. */
  mentioned: Declared[]
}

export interface EntryPoint {
  /** The entry point: `overwinter/client`. */
  name: string
  exports: Declared[]
}

export interface Declared {
  name: string
  /** Its doc comment. */
  comment: string
  code: string
  /** The same for each entry point that exports it. */
  id: number
}

/** The package's exports as the compiler sees them, from declaration files that it writes for this purpose. */
export function readReference(): Reference {
  // The compiler uses real paths, and macOS has its temporary folder behind a link.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'overwinter-reference-')))
  const api = new API({ cwd: folder })
  try {
    writeDeclarations(folder)
    const sources = publicSources()
    const files = sources.map(({ file }) => join(folder, file.replace(/\.ts$/, '.d.ts')))
    const config = join(folder, 'tsconfig.json')
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2024',
      types: [],
      noEmit: true,
      allowImportingTsExtensions: true,
    }
    writeFileSync(config, JSON.stringify({ compilerOptions, files }))
    const { program, checker } = api.updateSnapshot({ openProjects: [config] }).getProject(config)!
    const exported = files.map((file) => exportsOf(program, checker, file))
    const entryPoints = sources.map(({ name }, i) => ({ name, exports: inOrder(exported[i]!, checker) }))
    return { entryPoints, mentioned: inOrder(mentionedBy(exported.flat(), checker, folder), checker) }
  } finally {
    api.close()
    rmSync(folder, { recursive: true })
  }
}

function publicSources(): { name: string; file: string }[] {
  const { name, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    name: string
    exports: Record<string, unknown>
  }
  return Object.entries(exports).flatMap(([path, target]) => {
    const source = (target as { 'overwinter-source'?: string })['overwinter-source']
    return source === undefined ? [] : [{ name: name + path.slice(1), file: source }]
  })
}

function writeDeclarations(folder: string): void {
  const args = ['-p', ROOT, '--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--outDir', folder]
  try {
    execFileSync(join(ROOT, 'node_modules/.bin/tsc'), args, { stdio: 'pipe' })
  } catch {
    // `npm run check` reports errors in the code; declarations are written all the same.
  }
}

type Exported = [name: string, symbol: TsSymbol]

function exportsOf(program: Project['program'], checker: Checker, file: string): Exported[] {
  const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!
  return checker.getExportsOfModule(module).map((symbol) => [symbol.name, original(symbol, checker)])
}

function original(symbol: TsSymbol, checker: Checker): TsSymbol {
  return symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}

/** Our own types. The inside of a class is private, and other packages' types are in their references. */
function mentionedBy(exported: Exported[], checker: Checker, folder: string): Exported[] {
  const known = new Set(exported.map(([, symbol]) => symbol.id))
  const names = nodesOf(exported.map(([, symbol]) => symbol)).flatMap(mentionsOf)
  const symbols = checker.getSymbolAtLocation(names).flatMap((symbol) => (symbol ? [original(symbol, checker)] : []))
  const isType = ({ flags }: TsSymbol) => (flags & (SymbolFlags.Interface | SymbolFlags.TypeAlias)) !== 0
  const isOurs = ({ declarations }: TsSymbol) => declarations[0]?.path.startsWith(folder)
  const ours = symbols.filter((symbol) => !known.has(symbol.id) && isType(symbol) && isOurs(symbol))
  return [...new Map(ours.map((symbol) => [symbol.id, [symbol.name, symbol] as Exported])).values()]
}

function inOrder(exported: Exported[], checker: Checker): Declared[] {
  const declarations = exported.map(([name, symbol]) => declared(name, symbol, checker))
  return declarations.sort((a, b) => (a.name < b.name ? -1 : 1))
}

function declared(name: string, symbol: TsSymbol, checker: Checker): Declared {
  const nodes = nodesOf([symbol])
  // Overloads have comments of their own, which stay with them.
  const isAlone = nodes.length === 1
  const comment = isAlone ? checker.getDocumentationCommentOfSymbol(symbol).trim() : ''
  return { name, comment, code: nodes.map((node) => codeOf(node, { withComment: !isAlone })).join('\n'), id: symbol.id }
}

function nodesOf(symbols: TsSymbol[]) {
  return symbols.flatMap(({ declarations }) => declarations.map((handle) => statementOf(handle.resolve()!)))
}
