import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { serveLocal } from '../../functions/local/serve.ts'
import { workflow } from '../../sdk/index.ts'
import { Running, root } from '../cli/fixture.ts'
import { PATIENCE_MS } from '../outside/patience.ts'

const page = readFileSync(join(root, 'docs/workers.md'), 'utf8')
const block = (language: string, containing: string) => {
  const blocks = [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, code]) => code!)
  return blocks.find((code) => code.includes(containing))!
}

const summarise = workflow('summarise', async (ctx, prompt: string) => ctx.task('llm', { prompt }))
const serve = () =>
  serveLocal({ path: ':memory:', workflows: [summarise], port: 0, workerToken: 'ours', log: () => {} })

it('the worker in a shell of docs/workers.md gets the answers that stand there', async () => {
  await using server = await serve()
  await server.local.start(summarise, 'winter', { id: 's1' })
  const session = block('sh', 'ask tasks/poll')
  await using shell = new Running('bash', ['-c', session], {
    env: { OVERWINTER_URL: server.url, OVERWINTER_WORKER_TOKEN: 'ours' },
  })
  expect(await shell.exited, shell.stderr).toBe(0)
  const promised = [...session.matchAll(/^# (.*)$/gm)].map(([, answer]) => answer)
  expect(
    shell.stdout
      .trim()
      .replace(/"deadline":"[^"]+"/, '"deadline":"…"')
      .split('\n'),
  ).toEqual(promised)
  expect(await server.local.result('s1')).toEqual({ text: 'cold' })
})

it('the worker in Python of docs/workers.md works', async () => {
  await using server = await serve()
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-docs-'))
  try {
    writeFileSync(join(folder, 'worker.py'), block('python', 'Worker('))
    const env = {
      OVERWINTER_URL: server.url,
      OVERWINTER_WORKER_TOKEN: 'ours',
      PYTHONPATH: join(root, 'workers/python'),
    }
    await using _ = new Running('python3', ['worker.py'], { cwd: folder, env })
    const [fine, empty] = await Promise.all(['winter', ''].map((prompt) => server.local.start(summarise, prompt)))
    expect(await server.local.result(fine!.runId, { timeout: PATIENCE_MS })).toEqual({ text: 'WINTER' })
    await expect(server.local.result(empty!.runId, { timeout: PATIENCE_MS })).rejects.toThrow(
      'after 1 attempt: Fatal: there is nothing to answer',
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
})
