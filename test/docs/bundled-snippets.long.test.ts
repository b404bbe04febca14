import { expect, it } from 'vitest'
import { SnippetFolder, snippets } from './snippets.ts'

const deploying = snippets.filter(({ code }) => code.includes("from 'overwinter/cdk'"))

it('every snippet in README and docs that deploys bundles what it names', async () => {
  using reader = new SnippetFolder('bundled')
  expect(deploying.length).toBeGreaterThan(5)
  const ends = await reader.run(deploying)
  for (const snippet of deploying) expect(ends.of(snippet), snippet.name).toBe('ran to its end')
  expect(ends.code, ends.stderr).toBe(0)
})
