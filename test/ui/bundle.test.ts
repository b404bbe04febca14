import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { bundle } from '../../dashboard/bundle.ts'

const BUDGET = 60 * 1024
const folder = new URL('../../dashboard/', import.meta.url).pathname
/** What Node runs; all else is the page's. */
const NODE_SIDE = ['bundle.ts', 'files.ts']
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file) && !NODE_SIDE.includes(file))
  .map((file) => ({ file, text: readFileSync(join(folder, file), 'utf8') }))

test('all views together, script and style, are at most 60 KB compressed', async () => {
  const files = [...(await bundle())].filter(([name]) => /\.(js|css)$/.test(name))
  expect(files).toHaveLength(2)
  const size = files.reduce((sum, [, { body }]) => sum + gzipSync(body, { level: 9 }).length, 0)
  expect(size).toBeLessThanOrEqual(BUDGET)
})

test('payloads are text: nothing puts markup into the page', () => {
  for (const { file, text } of sources)
    expect(text, file).not.toMatch(
      /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|style="|eval\(/,
    )
})

test('of the product the page has only what is pure: views, layers, bounds, and what the wire looks like', () => {
  const pure =
    /from '(\.\.\/)+sdk\/(views\/[\w-]+|definitions\/layers|flow\/limiter\/bounds|http-client\/wire|base\/(events|path-step))\.ts'/
  for (const { file, text } of sources) {
    expect(text, file).not.toMatch(/from 'node:/)
    for (const [statement] of text.matchAll(/^import (?!type\b)[^']*'[^']*'/gm))
      if (statement.includes('/sdk/')) expect(statement, file).toMatch(pure)
  }
})
