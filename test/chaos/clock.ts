import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const HOUR_MS = 3_600_000
/** The clock is looked at every minute; the rest is for a machine that has much to do. */
const LOOKED_AT_WITHIN_MS = 75_000

interface Woke {
  woke: string
  earlyMs: number
}

/** A real process whose wall clock jumps an hour while its runs sleep. Takes two minutes, so it is not among the tests. */
export async function moveTheClock(): Promise<{ problems: string[]; aheadSeconds: number; backSeconds: number }> {
  const problems: string[] = []
  const ahead = await jump(HOUR_MS, { due: HOUR_MS / 2, later: HOUR_MS * 2 })
  // Due in two seconds by the old time, and in an hour by the new one; then the clock is put right again.
  const back = await jump(-HOUR_MS, { due: 2_000, later: HOUR_MS * 2 })
  for (const [name, { woken }] of Object.entries({ ahead, back })) {
    if (!woken.due)
      problems.push(`an hour ${name}: the run that was due did not wake within ${LOOKED_AT_WITHIN_MS / 1_000} s`)
    if (woken.tooSoon) problems.push(`an hour ${name}: a run woke while its time had not come`)
  }
  return { problems, aheadSeconds: ahead.seconds, backSeconds: back.seconds }
}

async function jump(
  shiftMs: number,
  naps: { due: number; later: number },
): Promise<{ woken: { due: boolean; tooSoon: boolean }; seconds: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-clock-'))
  const file = (name: string) => join(import.meta.dirname, name)
  const args = [join(folder, 'runs.db'), String(naps.due), String(naps.later)]
  const child = fork(file('sleeper.ts'), args, {
    execArgv: ['--conditions=overwinter-source', '--import', file('shifted-clock.ts')],
  })
  const woken: Woke[] = []
  child.on('message', (message: Partial<Woke>) => message.woke !== undefined && woken.push(message as Woke))
  const shift = async (ms: number) => {
    const heard = once(child, 'message')
    child.send({ shiftMs: ms })
    await heard
  }
  try {
    await once(child, 'message')
    await shift(shiftMs)
    if (shiftMs < 0) {
      await pause(5_000)
      if (woken.length > 0) return { woken: { due: true, tooSoon: true }, seconds: 0 }
      await shift(0)
    }
    const began = performance.now()
    while (woken.length === 0 && performance.now() - began < LOOKED_AT_WITHIN_MS) await pause(50)
    const tooSoon = woken.some(({ woke, earlyMs }) => woke === String(naps.later) || earlyMs > 0)
    return { woken: { due: woken.length > 0, tooSoon }, seconds: (performance.now() - began) / 1_000 }
  } finally {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
