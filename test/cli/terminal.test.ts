import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { Narrator } from '../../cli/dev/narrator.ts'
import { run } from '../../cli/program.ts'
import { paint, say, shown } from '../../cli/terminal.ts'
import type { LocalServer } from '../../functions/local/serve.ts'
import { workflow } from '../../sdk/index.ts'
import type { RunStore } from '../../sdk/ports/run-store.ts'
import { serveLocal } from '../http/by-the-document.ts'

/** Sets the clipboard, hides a line, in 7 and in 8 bits; a bell, a return, a text that is turned round. */
const EVIL = '\u001b]52;c;ZXZpbA==\u0007\u001b[1A\u001b[2K\u009b31m\u007f\r\u0000\u202egnp.exe\u2066all is well'
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/

let server: LocalServer
let link = ''
const evil = workflow('evil', { tags: ['a tag'] }, async (ctx) => {
  const { token, promise } = ctx.callback('approve')
  await ctx.step('mail', async () => void (link = token))
  await ctx.step('say', async () => EVIL)
  ctx.progress({ EVIL })
  return promise
})
const talker = workflow('talker', async () => ({ said: EVIL }))

beforeAll(async () => {
  server = await serveLocal({ path: ':memory:', workflows: [evil, talker], port: 0, log: () => {} })
  await server.local.start(evil, undefined, { id: 'r1' })
  while ((await server.local.get('r1')).status !== 'waiting') await new Promise((resolve) => setImmediate(resolve))
  // Over HTTP such a name is refused; in the code of steps and workers it is not.
  await server.local.failCallback(
    link,
    Object.assign(new Error(EVIL), { name: `Evil${EVIL}\nr9  evil  completed`, code: EVIL, stack: undefined }),
  )
  await server.local.result('r1').catch(() => {})
})
afterAll(() => server.close(10))

/** What a command writes, and where. */
async function written(...args: string[]): Promise<string> {
  const out: string[] = []
  const spies = (['log', 'error'] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation((text: string) => void out.push(text)),
  )
  try {
    await run(['node', 'overwinter', ...args, '--url', server.url])
  } finally {
    for (const spy of spies) spy.mockRestore()
    process.exitCode = 0
  }
  return out.join('\n')
}

describe('text from outside', () => {
  it.each([
    [['runs']],
    [['show', 'r1']],
    [['show', 'r1', '--follow']],
    [['why', 'r1']],
    [['history', 'r1']],
    [['incidents']],
    [['start', 'talker', '--wait']],
    [['trace', 'r1']],
    [['show', EVIL]],
    [['no-such-command', EVIL]],
    [[`unknown${EVIL}`]],
  ])('is shown by the terminal and not obeyed: %j', async (args) => {
    for (const json of [[], ['--json']]) {
      const text = await written(...args, ...json)
      expect(text).not.toBe('')
      expect(text).not.toMatch(OBEYED)
    }
  })

  it('is spelt so that a person sees what is there', async () => {
    expect(await written('why', 'r1')).toContain('\\u001b]52;c;ZXZpbA==\\u0007')
    expect(await written('runs')).not.toMatch(/^r9/m)
  })

  it('is the same text in JSON', async () => {
    const { error } = JSON.parse(await written('show', 'r1', '--json'))
    expect(error.message).toBe(EVIL)
  })

  it('is not obeyed in what `dev` tells either', async () => {
    const lines: string[] = []
    const spy = vi.spyOn(console, 'log').mockImplementation((text: string) => void lines.push(text))
    const store = {
      commit: async () => ({ ok: true, suspended: true, wakes: [] }),
      claim: async () => undefined,
    } as unknown as RunStore
    const event = { type: 'run.failed', error: { name: 'Error', message: EVIL } } as const
    await new Narrator(say, () => 0).around(store).commit({
      runId: 'r1',
      epoch: 1,
      frame: { seq: 1, at: 0, epoch: 1, events: [event] },
      next: { kind: 'end', event },
    })
    spy.mockRestore()
    expect(lines.join()).toContain('\\u001b]52')
    expect(lines.join()).not.toMatch(OBEYED)
  })
})

describe('colours', () => {
  it('are ours: those that come with a text are shown', () => {
    vi.stubEnv('FORCE_COLOR', '1')
    const painted = shown(`${paint('red', `\u001b[32m${EVIL}`)} and\n\tso on`)
    vi.unstubAllEnvs()
    expect(painted.startsWith('\u001b[31m\\u001b[32m')).toBe(true)
    expect(painted.endsWith('all is well\u001b[39m and\n\tso on')).toBe(true)
  })

  it('and words go through one place', () => {
    const folder = join(import.meta.dirname, '../../cli')
    // The words of a project that is made; and an old Node, which can read nothing else.
    const others = globSync('**/*.ts', { cwd: folder }).filter(
      (file) => !['terminal.ts', 'main.ts', 'init/templates.ts'].includes(file),
    )
    expect(others.length).toBeGreaterThan(40)
    for (const file of others) {
      const source = readFileSync(join(folder, file), 'utf8')
      expect([file, source.match(/console\.|styleText|process\.std(out|err)\.write/)?.[0]]).toEqual([file, undefined])
    }
  })
})
