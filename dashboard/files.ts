import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'

export interface UiFile {
  type: string
  body: string
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

let files: Promise<Map<string, UiFile>> | undefined

/** The page's files by name under `/ui/`: bundled on first request in this repository, prebuilt in the package. */
export function uiFiles(): Promise<Map<string, UiFile>> {
  files ??= extname(import.meta.filename) === '.ts' ? fromSources() : readyMade(join(import.meta.dirname, 'page'))
  // After an error, the next request bundles again, so that fixed sources need no restart.
  files.catch(() => (files = undefined))
  return files
}

/** The package has no bundler, so its bundle must not see this import. */
async function fromSources(): Promise<Map<string, UiFile>> {
  const { bundle } = (await import(new URL('./bundle.ts', import.meta.url).href)) as typeof import('./bundle.ts')
  return bundle()
}

async function readyMade(folder: string): Promise<Map<string, UiFile>> {
  const names = await readdir(folder)
  return new Map(
    await Promise.all(
      names.map(
        async (name) =>
          [name, { type: TYPES[extname(name)]!, body: await readFile(join(folder, name), 'utf8') }] as const,
      ),
    ),
  )
}
