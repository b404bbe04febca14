import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { timelineLine } from '../cli/timeline.ts'
import type { HistoryEvent } from '../sdk/client/history.ts'
import { OverwinterClient } from '../sdk/http-client/index.ts'
import { hasEnded, type RunStatus } from '../sdk/ports/run.ts'
import { span } from '../sdk/views/moments.ts'

/** Kills a process in the middle of a sleep and shows that the run completes all the same. Ends by itself. */
const folder = mkdtempSync(join(tmpdir(), 'overwinter-demo-'))
const effects = join(folder, 'effects')
const RUN = 'order-1'
const LOOK_EVERY_MS = 40
const INTO_THE_SLEEP_MS = 1_200
const DEAD_FOR_MS = 1_000

const say = (text = '') => console.log(text)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
let shown = 0

async function startProcess(): Promise<{ child: ChildProcess; client: OverwinterClient }> {
  const child = fork(join(import.meta.dirname, 'server.ts'), [join(folder, 'runs.db'), effects])
  const [url] = (await once(child, 'message')) as [string]
  say(styleText('bold', `process ${child.pid} is up`))
  return { child, client: new OverwinterClient({ url }) }
}

/** Prints what is new in the run's history until the run is in one of these states. */
async function show(client: OverwinterClient, isThere: (status: RunStatus) => boolean): Promise<void> {
  for (;;) {
    const { status, startedAt = 0 } = await client.get(RUN)
    const history = await client.history(RUN)
    for (const event of history.slice(shown)) say(timelineLine(event, startedAt))
    shown = history.length
    if (isThere(status)) return
    await pause(LOOK_EVERY_MS)
  }
}

/** Prints every effect with the process that caused it. */
function tally(): boolean {
  const lines = readFileSync(effects, 'utf8').trim().split('\n')
  const done = lines.map((line) => JSON.parse(line) as { what: string; pid: number })
  say()
  say('What was done, and by which process:')
  for (const { what, pid } of done) say(`  ${what.padEnd(24)} ${styleText('dim', `process ${pid}`)}`)
  return done.length === 4 && new Set(done.map(({ what }) => what)).size === 4
}

function lateness(history: HistoryEvent[]): number {
  const due = history.find((event) => event.type === 'sleep.started')!.until
  return history.find((event) => event.type === 'sleep.completed')!.at - due
}

say()
const first = await startProcess()
await first.client.start('order', { item: 'a kettle', cents: 4200 }, { id: RUN })
await show(first.client, (status) => status === 'sleeping')
await pause(INTO_THE_SLEEP_MS)
first.child.kill('SIGKILL')
await once(first.child, 'exit')
say(styleText(['red', 'bold'], `process ${first.child.pid} was killed (SIGKILL), in the middle of the sleep`))
say(styleText('dim', '  nothing runs now; the order is a row in a file'))
await pause(DEAD_FOR_MS)
const second = await startProcess()
await show(second.client, hasEnded)
const { status } = await second.client.get(RUN)
const overslept = lateness(await second.client.history(RUN))
second.child.kill()
await once(second.child, 'exit')

const isOnce = tally()
rmSync(folder, { recursive: true })
const isGood = isOnce && status === 'completed'
say()
say(
  isGood
    ? styleText('green', `Everything happened once, and the sleep ended ${span(overslept)} after it was due.`)
    : styleText('red', 'Something was repeated or is missing.'),
)
say(`Next: ${styleText('bold', 'npm run dev')}`)
process.exitCode = isGood ? 0 : 1
