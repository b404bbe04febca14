import { readFileSync } from 'node:fs'
import { type Replayed, replayUpTo } from '../../sdk/client/time-travel.ts'
import type { Client } from '../../sdk/index.ts'

/** The lines around the current line of the code. */
export interface Source {
  file: string
  line: number
  lines: { n: number; text: string }[]
}

const AROUND = 6

type Reading = Pick<Client, 'get' | 'history'> & { definitions: Pick<Client['definitions'], 'exact'> }

/**
 * Open operations say where they were called; for the first, the code around it is included. `upTo`: the last
 * event, unless given.
 */
export async function replayOf(client: Reading, runId: string, upTo?: string): Promise<Replayed & { source?: Source }> {
  const [run, history] = await Promise.all([client.get(runId), client.history(runId)])
  const workflow = await client.definitions.exact(run.workflow, run.version)
  const replayed = await replayUpTo(workflow, run, history, upTo ?? history.at(-1)?.n ?? '')
  const source = sourceOf(replayed.open.find(({ at }) => at !== undefined)?.at)
  return { ...replayed, ...(source && { source }) }
}

function sourceOf(at: string | undefined): Source | undefined {
  const [, file, line] = /^(.*):(\d+):\d+$/.exec(at ?? '') ?? []
  if (file === undefined) return undefined
  try {
    const here = Number(line)
    const first = Math.max(1, here - AROUND)
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .slice(first - 1, here + AROUND)
    return { file, line: here, lines: lines.map((text, i) => ({ n: first + i, text })) }
  } catch {
    // The file was moved or deleted since it was loaded, so the position comes without its code.
    return undefined
  }
}
