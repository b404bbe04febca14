import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const root = new URL('../..', import.meta.url).pathname
const read = (file: string) => readFileSync(join(root, file), 'utf8')

it('every option of the construct is explained in docs/deploying.md, and none that it does not have', () => {
  const [, props] = /export interface OverwinterProps \{\n([\s\S]*?)\n\}/.exec(read('infra/options.ts'))!
  const options = [...props!.matchAll(/^ {2}(\w+)\??:/gm)].map(([, name]) => name)
  const [, section] = /## Options, one by one\n([\s\S]*?)\n## /.exec(read('docs/deploying.md'))!
  const explained = [...section!.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  expect(explained).toEqual(options)
})
