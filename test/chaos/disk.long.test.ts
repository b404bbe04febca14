import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { Local, LocalFileError } from '../../sdk/local.ts'
import { canMakeDisks, SmallDisk } from '../local/small-disk.ts'
import { LogWatch } from './log-watch.ts'

const seconds = (n: number) => new Promise((resolve) => setTimeout(resolve, n * 1_000))
/** Long enough to see a flood; not a limit for anything that has to happen. */
const A_WHILE_S = 4

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'overwinter-disk-chaos-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const grow = workflow('grow', async (ctx, n: number) => {
  const texts: string[] = []
  for (let i = 0; i < 4; i++) {
    texts.push(await ctx.step(`write-${i}`, () => `${n}/${i} `.repeat(1_000), { retry: { attempts: 1 } }))
    await ctx.sleep(`nap-${i}`, 50)
  }
  return texts.map((text) => text.length)
})

test.skipIf(!canMakeDisks)(
  'a full disk: nothing acknowledged is lost, few words are made of it, and with room again the runs go on by themselves',
  async () => {
    using disk = new SmallDisk(3)
    const log = new LogWatch()
    const path = join(disk.folder, 'runs.db')
    await using local = await Local.open({ path, workflows: [grow], log: log.sink, leaseMs: 1_000 })
    const acknowledged: string[] = []
    let refused: unknown
    for (let n = 0; refused === undefined; n++) {
      await local.start(grow, n, { id: `grow-${n}` }).then(
        ({ runId }) => acknowledged.push(runId),
        (error: unknown) => (refused = error),
      )
    }
    expect(refused).toBeInstanceOf(LocalFileError)
    expect(refused).toMatchObject({ path, code: 'SQLITE_FULL', message: expect.stringContaining('Make room') })
    await seconds(A_WHILE_S)
    expect(log.mostInASecond).toBeLessThan(10)
    for (const { message } of log.lines) expect(message).toMatch(/runs\.db: its disk is full.*Make room/)

    disk.resize(64)
    for (const runId of acknowledged) {
      const n = Number(runId.split('-')[1])
      expect(await local.result(runId)).toEqual([0, 1, 2, 3].map((i) => `${n}/${i} `.length * 1_000))
    }
    expect((await local.list({ limit: 1_000 })).runs).toHaveLength(acknowledged.length)
  },
)

const SENTENCE = /runs\.db: it is damaged.*backup/

/** Its text is in its input, in its journal, or nowhere. */
const remember = workflow('remember', async (ctx, { input, result }: { input: string; result: number }) => {
  const kept = await ctx.step('keep', () => TEXT.repeat(result))
  await ctx.sleep('nap', '1h')
  return input.length + kept.length
})
const TEXT = 'DAMAGE '

/** A file in which one run of three is damaged. */
async function damaged(run: { input: string; result: number }): Promise<string> {
  const path = join(folder, 'runs.db')
  const local = await Local.open({ path, workflows: [remember], log: () => {} })
  const whole = { input: '', result: 1 }
  for (const [id, input] of Object.entries({ 'whole-1': whole, damaged: run, 'whole-2': whole })) {
    await local.start(remember, input, { id })
    while ((await local.get(id)).status !== 'sleeping') await new Promise((resolve) => setImmediate(resolve))
  }
  await local.close()
  overwriteTheMiddleOf(path, TEXT)
  return path
}

async function theOthersGoOn(local: Local): Promise<void> {
  for (const id of ['whole-1', 'whole-2']) {
    await local.wake(id)
    expect(await local.result(id)).toBe(TEXT.length)
  }
}

test('a damaged input: whoever asks for the run is told, with path and remedy, and the runs beside it go on', async () => {
  const path = await damaged({ input: TEXT.repeat(20_000), result: 1 })
  const log = new LogWatch()
  await using local = await Local.open({ path, workflows: [remember], log: log.sink })
  await expect(local.get('damaged')).rejects.toThrow(SENTENCE)
  await expect(local.wake('damaged')).rejects.toThrow(SENTENCE)
  await theOthersGoOn(local)
  for (const { message } of log.lines) expect(message).toMatch(SENTENCE)
})

test('a damaged journal: the run is named in the log, with path and remedy, and in few words', async () => {
  const path = await damaged({ input: '', result: 20_000 })
  const log = new LogWatch()
  await using local = await Local.open({ path, workflows: [remember], log: log.sink, leaseMs: 1_000 })
  await local.wake('damaged')
  await seconds(A_WHILE_S)
  expect(log.lines.length).toBeGreaterThan(0)
  expect(log.mostInASecond).toBeLessThan(10)
  for (const { message } of log.lines) expect(message).toMatch(SENTENCE)
})

/** As a failing disk would: pages in the middle of the stretch that holds this text, with the pointers from one to the next. */
function overwriteTheMiddleOf(path: string, text: string): void {
  const content = readFileSync(path)
  const middle = Math.floor((content.indexOf(text) + content.lastIndexOf(text)) / 2 / 4_096) * 4_096
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(3 * 4_096, 0xff), 0, 3 * 4_096, middle)
  closeSync(file)
}
