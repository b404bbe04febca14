import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../cli/fixture.ts'
import { type Ends, SnippetFolder, snippets } from './snippets.ts'

describe('every TypeScript snippet in README and docs', () => {
  let reader: SnippetFolder
  let ends: Ends
  beforeAll(async () => {
    reader = new SnippetFolder('all')
    // Those that deploy make their templates, and no bundles: that takes a minute, and `npm run test:long` does it.
    ends = await reader.run(snippets, { CDK_CONTEXT_JSON: '{"aws:cdk:bundling-stacks":[]}' })
  })
  afterAll(() => reader[Symbol.dispose]())

  it('compiles', () => {
    expect(snippets.length).toBeGreaterThan(1)
    execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', reader.folder], { stdio: 'pipe', encoding: 'utf8' })
  })

  it.each(snippets)('runs: $name', (snippet) => {
    expect(ends.of(snippet)).toBe('ran to its end')
  })

  it('leaves nothing behind that goes on', () => {
    expect(ends.code, ends.stderr).toBe(0)
  })
})
