import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readReference } from '../../docs/reference/declarations.ts'
import { referencePage } from '../../docs/reference/page.ts'

const root = new URL('../..', import.meta.url).pathname
const reference = readReference()

it('docs/reference.md is what the types say today; if not, npm run docs:reference', () => {
  expect(referencePage(reference)).toBe(readFileSync(join(root, 'docs/reference.md'), 'utf8'))
})

it.each(reference.entryPoints)('it has everything that $name has at run time', async ({ name, exports }) => {
  const atRunTime = Object.keys((await import(name)) as object)
  expect(atRunTime.length).toBeGreaterThan(0)
  expect(exports.map((each) => each.name)).toEqual(expect.arrayContaining(atRunTime))
})

it('it shows nothing private, and the comments of members', () => {
  const all = reference.entryPoints.flatMap(({ exports }) => exports)
  expect(all.filter(({ code }) => /^\s*(private\b|#)/m.test(code))).toEqual([])
  expect(all.find(({ name }) => name === 'Context')!.code).toContain(
    '/** Waits a second or a year, without using compute. */\n  sleep(',
  )
})
