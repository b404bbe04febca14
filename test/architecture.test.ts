import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = new URL('..', import.meta.url).pathname
const sources = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ file: join(folder, file), text: readFileSync(join(root, folder, file), 'utf8') }))

describe('architecture', () => {
  it('the engine reaches the outside only through its ports', () => {
    const forbidden =
      /@aws-sdk|Date\.now\(|new Date\(\)|Math\.random\(|setTimeout|setInterval|setImmediate|node:(fs|http|https|net|sqlite|child_process|timers)|from '\.\.\/worlds/
    const offenders = sources('sdk/engine').filter(({ text }) =>
      forbidden.test(text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')),
    )
    expect(offenders.map(({ file }) => file)).toEqual([])
  })

  it('worlds do not know each other, and the authoring API knows no world', () => {
    for (const { file, text } of sources('sdk/worlds/local')) expect(text, file).not.toMatch(/worlds\/aws|\.\.\/aws/)
    for (const { file, text } of sources('sdk').filter(
      ({ file }) => !file.includes('worlds') && !file.includes('testing'),
    )) {
      if (file === 'sdk/local.ts') continue
      expect(text, file).not.toMatch(/from '.*worlds\//)
    }
  })

  it('views are for browsers too: nothing of Node, no clock, and of what asks for those only types', () => {
    for (const { file, text } of sources('sdk/views')) {
      expect(text, file).not.toMatch(/from 'node:|Date\.now\(|new Date\(\)|process\.|Buffer\b/)
      for (const [line] of text.matchAll(/^import (?!type).*$/gm))
        expect(line, file).toMatch(
          /from '\.\/|from '\.\.\/(engine\/undone|base\/events|flow\/limiter\/pause-scope)\.ts'/,
        )
    }
  })

  it('the engine knows nothing of flow control but its port', () => {
    for (const { file, text } of sources('sdk/engine'))
      expect([file, /from '\.\.\/flow\//.test(text)]).toEqual([file, false])
    const loop = sources('sdk/engine').find(({ file }) => file.endsWith('run-loop.ts'))!
    expect(loop.text.split('\n').length).toBeLessThan(220)
  })

  it('no source file is one a reader must scroll through twice', () => {
    const long = sources('sdk').filter(({ text }) => text.split('\n').length > 450)
    expect(long.map(({ file }) => file)).toEqual([])
  })
})
