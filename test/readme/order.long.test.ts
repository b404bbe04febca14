import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Local } from '../../sdk/local.ts'
import { Running, root } from '../cli/fixture.ts'

test("README's first program, killed in the middle and started again, finishes the same run and charges once", async () => {
  // Below this repository, so that the program finds the package by its name.
  mkdirSync(join(root, 'test/docs'), { recursive: true })
  const folder = mkdtempSync(join(root, 'test/docs/.readme-'))
  try {
    const [, program] = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8'))!
    const telling = program!
      .replace('({ receipt:', "(console.log('charged'), { receipt:")
      .replace('if (!ok)', "console.log('approved')\n  if (!ok)")
      .replace("'cool-off', 100", "'cool-off', 1_000")
    expect(telling.match(/console\.log\('(charged|approved)'\)|1_000/g)).toHaveLength(3)
    writeFileSync(join(folder, 'order.ts'), telling)
    const run = () => new Running(process.execPath, ['--conditions=overwinter-source', 'order.ts'], { cwd: folder })

    await using first = run()
    await first.says(/approved/)
    await first.kill('SIGKILL')
    expect(first.stdout).not.toContain('shipped')

    for (const again of ['goes on', 'finds it done']) {
      await using process = run()
      expect(await process.exited, process.stderr).toBe(0)
      expect(process.stdout, again).toContain("status: 'shipped'")
      expect(process.stdout, again).not.toContain('charged')
    }
    await using local = await Local.open({ path: join(folder, '.overwinter/order.db'), workflows: [] })
    expect((await local.list()).runs).toMatchObject([{ runId: 'o-1', status: 'completed' }])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
