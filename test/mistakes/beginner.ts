import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Context, type RunView, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { hasEnded } from '../../sdk/ports/run.ts'
import { testEnv } from '../../sdk/testing/index.ts'

type Body = (ctx: Context) => Promise<unknown>

/** What somebody sees who has run a workflow: how it ended, with which message, and what was said on the way. */
export interface Seen {
  status: string
  message: string | undefined
  warnings: string[]
}

/** Where beginners run their workflows. */
export const PLACES: [string, (body: Body) => Promise<Seen>][] = [
  ['in a test', inTest],
  ['on a file, as dev does', onFile],
]

/** Run `r` of workflow `order`, as far as it gets. */
async function inTest(body: Body): Promise<Seen> {
  const order = workflow('order', body)
  const env = await testEnv({ workflows: [order] })
  const run = await env.start(order, undefined, { id: 'r' })
  await env.advance('1d')
  return seen(
    await run.get(),
    env.logs.filter(({ level }) => level === 'warn').map(({ message }) => message),
  )
}

async function onFile(body: Body): Promise<Seen> {
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-mistake-'))
  const warnings: string[] = []
  const order = workflow('order', body)
  const log = (level: string, message: string) => void (level === 'warn' && warnings.push(message))
  const local = await Local.open({ path: join(folder, 'runs.db'), workflows: [order], log })
  try {
    await local.start(order, undefined, { id: 'r' })
    return seen(await settled(local), warnings)
  } finally {
    await local.close(0)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Its sleeps are skipped, which makes it run its code again all the same. */
async function settled(local: Local): Promise<RunView> {
  for (;;) {
    const run = await local.get('r')
    if (hasEnded(run.status) || run.status === 'stuck') return run
    if (run.status === 'sleeping') await local.wake('r')
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function seen({ status, error }: RunView, warnings: string[]): Seen {
  return { status, message: error?.message, warnings }
}
