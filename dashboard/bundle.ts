import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { UiFile } from './files.ts'

const here = import.meta.dirname
const ICONS = ['favicon-local.svg', 'favicon-deployed.svg']

/**
 * Bundles the page: `npm run dev` serves the result in this repository, and `npm run build` puts it into the
 * package.
 */
export async function bundle(): Promise<Map<string, UiFile>> {
  const { outputFiles } = await build({
    entryPoints: { app: join(here, 'main.tsx') },
    bundle: true,
    minify: true,
    write: false,
    outdir: here,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    conditions: ['overwinter-source'],
    legalComments: 'none',
    logLevel: 'silent',
  })
  const files = new Map<string, UiFile>()
  let html = await readFile(join(here, 'index.html'), 'utf8')
  for (const [name, type] of [
    ['app.js', 'text/javascript; charset=utf-8'],
    ['app.css', 'text/css; charset=utf-8'],
  ] as const) {
    const body = outputFiles.find(({ path }) => path.endsWith(name))!.text
    // The name contains a hash of the content: browsers may cache it for good.
    const named = name.replace('.', `-${createHash('sha256').update(body).digest('hex').slice(0, 12)}.`)
    files.set(named, { type, body })
    html = html.replace(`/ui/${name}`, `/ui/${named}`)
  }
  for (const icon of ICONS) files.set(icon, { type: 'image/svg+xml', body: await readFile(join(here, icon), 'utf8') })
  return files.set('index.html', { type: 'text/html; charset=utf-8', body: html })
}
