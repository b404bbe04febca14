import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { bearer } from '../../functions/http/bearer.ts'
import type { LocalServer } from '../../functions/local/serve.ts'
import { request, signal, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { serveLocal } from '../http/by-the-document.ts'
import { freePort } from '../outside/free-port.ts'
import { type Output, overwinter, Project, pause, Running, root } from './fixture.ts'

const approved = signal('approved', z.object({ by: z.string() }))
const nap = workflow('nap', { input: z.object({ name: z.string() }) }, async (ctx, { name }) => {
  await ctx.step('lie-down', () => `${name} lies down`)
  await ctx.sleep('night', '8h')
  return ctx.step('get-up', () => `${name} gets up`)
})
const approval = workflow('approval', async (ctx) => (await ctx.waitFor(approved, { timeout: '1d' }))?.by)
const add = workflow('add', async (_ctx, numbers: number[]) => numbers.reduce((a, b) => a + b, 0))
const price = request<string, { cents: number }>('price')
const shop = workflow('shop', async (ctx) => {
  for (;;) {
    const { payload, reply, refuse } = await ctx.waitFor(price)
    if (payload === 'fish') refuse(new Error('sold out'))
    else reply({ cents: payload.length * 100 })
  }
})
let isBroken = true
const flaky = workflow('flaky', async (ctx) => {
  await ctx.step('first', () => 1)
  return ctx.step('second', () => (isBroken ? Promise.reject(new Error('out of order')) : 2), {
    retry: { attempts: 1 },
  })
})

const undone = workflow('undone', async (ctx) => {
  await ctx.step('hold', () => 1)
  ctx.compensate('give back', () => 1)
  await ctx.step('take', () => Promise.reject(new Error('out of stock')), { retry: { attempts: 1 } })
})

const hasty = workflow('hasty', async (ctx) => {
  void ctx.step('mail', () => 1)
  return 'done'
})

let local: Local
let server: LocalServer
beforeAll(async () => {
  local = await Local.open({
    path: ':memory:',
    workflows: [nap, approval, add, flaky, shop, undone, hasty],
    log: () => {},
  })
  server = await serveLocal({ local, port: 0 })
})
afterAll(async () => {
  await server.close(10)
  await local.close(10)
})

const cli = (...args: string[]): Promise<Output> => overwinter([...args, '--url', server.url])
const json = async (...args: string[]) => JSON.parse((await cli(...args, '--json')).stdout)
const asleep = async (id: string, status = 'sleeping') => {
  while ((await local.get(id)).status !== status) await pause(5)
}

describe('help', () => {
  test('names every command; a command names its options and where the API is looked for', async () => {
    const { code, stdout } = await overwinter(['--help'])
    expect(code).toBe(0)
    for (const name of [
      'dev',
      'start',
      'runs',
      'show',
      'history',
      'signal',
      'cancel',
      'terminate',
      'retry',
      'wake',
      'rerun',
      'ask',
      'why',
      'doctor',
    ]) {
      expect(stdout).toMatch(new RegExp(`^ {2}${name} .* [a-z]`, 'm'))
    }
    const start = await overwinter(['start', '--help'])
    for (const option of ['--input', '--id', '--delay', '--tag', '--wait', '--url', '--token', '--json'])
      expect(start.stdout).toContain(option)
  })

  test('wrong usage ends with exit code 2 and says what is wrong', async () => {
    const outputs = await Promise.all([
      overwinter([]),
      overwinter(['strat', 'nap']),
      overwinter(['show']),
      overwinter(['runs', '--status', 'asleep']),
      overwinter(['start', 'nap', '--input', 'Ada']),
      overwinter(['start', 'nap', '--input', '@nowhere.json']),
      overwinter(['signal', 'x']),
    ])
    expect(outputs.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2, 2, 2])
    const said = outputs.map(({ stderr }) => stderr)
    expect(said[1]).toContain('Did you mean start?')
    expect(said[2]).toContain("missing required argument 'run'")
    expect(said[3]).toContain('Allowed choices are pending, queued, running')
    expect(said[4]).toMatch(/It is not JSON: .*For a file, write @file/)
    expect(said[5]).toContain('Cannot read nowhere.json')
    expect(said[6]).toContain("missing required argument 'name'")
  })

  test('the version is the package’s', async () => {
    expect((await overwinter(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

describe('start', () => {
  test('takes input from the command line, a file or standard input, and prints the output of the run it waits for', async () => {
    using project = new Project()
    writeFileSync(project.path('numbers.json'), '[1, 2, 3]')
    const [inline, file, piped] = await Promise.all([
      cli('start', 'add', '--input', '[1, 2]', '--wait'),
      overwinter(['start', 'add', '--input', '@numbers.json', '--wait', '10s', '--url', server.url], {
        cwd: project.folder,
      }),
      overwinter(['start', 'add', '--input', '-', '--wait', '--url', server.url], { input: '[20, 22]' }),
    ])
    expect([inline, file, piped].map(({ code, stdout }) => [code, stdout])).toEqual([
      [0, '3\n'],
      [0, '6\n'],
      [0, '42\n'],
    ])
  })

  test('the same id again gives the first run; tags and a delay arrive', async () => {
    const args = ['start', 'add', '--input', '[1]', '--id', 'later', '--delay', '1h', '--tag', 'a', '--tag', 'b']
    expect((await cli(...args)).stdout).toBe('started later\nFollow it: overwinter show later --watch\n')
    expect((await cli(...args)).stdout).toBe('later had been started before; it is pending\n')
    expect(await local.get('later')).toMatchObject({ status: 'pending', tags: ['a', 'b'] })
    expect((await cli('show', 'later')).stdout).toMatch(/pending: waits for its start at .* \(in (59|1 h)/)
    const other = await cli('start', 'add', '--input', '[2]', '--id', 'later')
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('choose another id') })
  })

  test('a failure, an unknown workflow and a wrong input are told with exit code 1', async () => {
    const failed = await cli('start', 'flaky', '--id', 'f0', '--wait')
    expect(failed).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/run f0 has not completed. It is failed[\s\S]*out of order/),
    })
    const unknown = await cli('start', 'naps')
    expect(unknown).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('known: add, approval, flaky, hasty, nap, shop, undone'),
    })
    const wrong = await cli('start', 'nap', '--input', '{"name":1}')
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('$.name') })
    const again = ['start', 'nap', '--input', '{"name":"Ada"}', '--id', 'patient'] as const
    await cli(...again)
    await asleep('patient')
    const impatient = await cli(...again, '--wait', '1ms')
    expect(impatient).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("It is sleeping: waits for the sleep 'night'"),
    })
  })
})

describe('looking', () => {
  test('runs lists them with what they wait for, filtered; --json gives what the API gives', async () => {
    await local.start(nap, { name: 'Ada' }, { id: 'look-1', tags: ['looked'] })
    await local.start(approval, undefined, { id: 'look-2', tags: ['looked'] })
    await asleep('look-1')
    await asleep('look-2', 'waiting')
    const { stdout } = await cli('runs', '--tag', 'looked')
    expect(stdout).toMatch(
      /^RUN +WORKFLOW +STATUS +CREATED +WAITS FOR\nlook-2 +approval +waiting +.* ago +signal 'approved' until .*\nlook-1 +nap +sleeping/,
    )
    expect(stdout).toMatch(/the sleep 'night' until \d.* \(in (8 h|7 h 5\d min)\)/)
    expect((await cli('runs', '--tag', 'looked', '--status', 'waiting')).stdout).not.toContain('look-1')
    expect((await cli('runs', '--tag', 'looked', '--workflow', 'nap')).stdout).not.toContain('look-2')
    expect((await cli('runs', '--tag', 'never')).stdout).toBe('no runs\n')
    const page = await json('runs', '--tag', 'looked', '--limit', '1')
    expect(page).toMatchObject({ runs: [{ runId: 'look-2', status: 'waiting' }], cursor: expect.any(String) })
    expect(await json('runs', '--tag', 'looked', '--limit', '1', '--cursor', page.cursor)).toMatchObject({
      runs: [{ runId: 'look-1' }],
    })
  })

  test('runs that are more than a page: each page ends with what to add for the next, the last one does not, and none is shown twice', async () => {
    const ids = Array.from({ length: 120 }, (_, n) => `paged-${n}`)
    for (const id of ids) await local.start(add, [1], { id, tags: ['paged'] })
    const shown: string[][] = []
    let more: string[] = []
    do {
      const { code, stdout } = await cli('runs', '--tag', 'paged', ...more)
      expect(code).toBe(0)
      const [heading, ...rows] = stdout.trimEnd().split('\n')
      expect(heading).toMatch(/^RUN +WORKFLOW/)
      shown.push(rows.flatMap((row) => /^paged-\d+/.exec(row) ?? []))
      more = /^There are more: (--cursor \S+)$/.exec(rows.at(-1)!)?.[1]?.split(' ') ?? []
      expect(rows).toHaveLength(shown.at(-1)!.length + (more.length > 0 ? 2 : 0))
    } while (more.length > 0)
    expect(shown.map((page) => page.length)).toEqual([50, 50, 20])
    expect(shown.flat()).toEqual(ids.toReversed())
  })

  test('show draws the timeline and says what the run waits for; history prints the events', async () => {
    await local.start(nap, { name: 'Ada' }, { id: 'shown' })
    await asleep('shown')
    const { stdout } = await cli('show', 'shown')
    expect(stdout.split('\n').map((line) => line.replaceAll(/\s+/g, ' ').trim())).toEqual([
      'shown nap v1 sleeping',
      expect.stringMatching(/^created \d\d:\d\d:\d\d/),
      '',
      '+0 ms ● started {"name":"Ada"}',
      expect.stringMatching(/^\+[\d.]+ m?s ✓ lie-down step( in [\d.]+ m?s)? → "Ada lies down"$/),
      expect.stringMatching(/^\+[\d.]+ m?s ◌ night sleeps until .*\d\d:\d\d:\d\d (UTC|[+-]\d\d:\d\d)$/),
      '',
      expect.stringMatching(/^sleeping: waits for the sleep 'night' until .* \(in (8 h|7 h 5\d min)\)$/),
      '',
    ])
    expect(await json('show', 'shown')).toMatchObject({
      runId: 'shown',
      waitingFor: [{ kind: 'sleep', id: 'night' }],
      history: [{ type: 'run.started' }, {}, {}],
    })
    const history = await cli('history', 'shown')
    expect(history.stdout).toMatch(/^20\d\d-.*Z {2}run\.started .*\n.* step\.completed .*\n.* sleep\.started .*\n$/)
    expect((await json('history', 'shown')).events).toHaveLength(3)
  })

  test('an id that is not there is answered with similar ones', async () => {
    for (const n of [40, 41, 43]) await local.start(add, [n], { id: `order-${n}` })
    const { code, stderr } = await cli('show', 'order-42')
    expect([code, stderr]).toEqual([1, 'no run order-42; 3 runs start with order-4: order-43, order-41, order-40\n'])
    expect((await cli('cancel', '~')).stderr).toMatch(/^no run ~; the newest are order-43, .*, …\n$/)
    expect(JSON.parse((await cli('wake', 'order-42', '--json')).stderr)).toEqual({
      error: expect.stringContaining('no run order-42'),
    })
  })

  test('--watch follows until the end', async () => {
    await local.start(approval, undefined, { id: 'followed' })
    await using watching = new Running(
      process.execPath,
      ['--conditions=overwinter-source', `${root}cli/main.ts`, 'show', 'followed', '-w', '--url', server.url],
      {},
    )
    await using listing = new Running(
      process.execPath,
      ['--conditions=overwinter-source', `${root}cli/main.ts`, 'runs', '-w', '--url', server.url],
      {},
    )
    await watching.says(/waits for signal 'approved'/)
    await listing.says(/followed +approval +waiting/)
    await local.signal('followed', approved, { by: 'Ada' })
    expect(await watching.exited).toBe(0)
    expect(watching.stdout).toMatch(/signal → {"by":"Ada"}[\s\S]*completed after .*: "Ada"\n$/)
    await listing.says(/followed +approval +completed/)
  })
})

describe('steering', () => {
  test('signal, wake, cancel and terminate', async () => {
    for (const id of ['s', 'c', 't', 'w']) await local.start(id === 's' ? approval : nap, { name: 'Ada' }, { id })
    await asleep('w')
    const signals = await cli('signal', 's', 'approved', '--payload', '{"by":"Bo"}', '--key', 'k')
    expect(signals.stdout).toBe('sent approved to s\n')
    expect(await local.result('s')).toBe('Bo')
    expect((await cli('wake', 'w')).stdout).toMatch(/^w woken; it is /)
    expect(await local.result('w')).toBe('Ada gets up')
    expect(await json('cancel', 'c', '--reason', 'enough')).toMatchObject({ runId: 'c' })
    await asleep('c', 'cancelled')
    expect((await cli('terminate', 't')).stdout).toBe('t ended; it is terminated\n')
    const late = await cli('cancel', 't')
    expect(late).toMatchObject({ code: 1, stderr: "run 't' has already ended (terminated)\n" })
  })

  test('ask prints what the run replies, and says why it refuses or that it takes too long', async () => {
    await local.start(shop, undefined, { id: 'shop' })
    expect(await cli('ask', 'shop', 'price', '--payload', '"bread"')).toMatchObject({
      code: 0,
      stdout: '{\n  "cents": 500\n}\n',
    })
    expect(await json('ask', 'shop', 'price', '--payload', '"tea"')).toEqual({ result: { cents: 300 } })
    expect(await cli('ask', 'shop', 'price', '--payload', '"fish"')).toMatchObject({
      code: 1,
      stderr: "run 'shop' refused request 'price': sold out\n",
    })
    const late = await cli('ask', 'shop', 'never', '--timeout', '50ms')
    expect(late).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^run 'shop' has not replied to request 'never' in time/),
    })
    expect((await cli('show', 'shop')).stdout).toMatch(/replied → {"cents":500}[\s\S]*refused, .*sold out/)
  })

  test('why says what a run waits for, what is known about it and what to do', async () => {
    await local.start(approval, undefined, { id: 'why' })
    await asleep('why', 'waiting')
    await local.signal('why', 'aproved')
    const { stdout } = await cli('why', 'why')
    expect(stdout).toMatch(
      /^why waits for signal 'approved'\n {2}◌ signal 'approved', for .*, until .* \(in .*\)\n {6}signal 'aproved' came, .* misspelt\?\n\nWhat can be done:\n {2}send it what it waits for: overwinter signal why approved --payload '…'\n$/,
    )
    expect(await json('why', 'why')).toMatchObject({ reason: "waits for signal 'approved'" })
    expect((await cli('why', 'nobody')).code).toBe(1)
  })

  test('incidents are listed, and all runs of one are retried, if one says so', async () => {
    for (const id of ['i1', 'i2']) {
      await local.start(flaky, undefined, { id })
      await asleep(id, 'failed')
    }
    const { incidents } = await json('incidents', '--workflow', 'flaky')
    const { fingerprint, lastAt } = incidents[0]
    expect(lastAt).toBe(new Date(lastAt).toISOString())
    expect(await json('incidents', '--since', '1h')).toMatchObject({
      incidents: expect.arrayContaining([expect.objectContaining({ fingerprint })]),
    })
    expect((await cli('incidents', '--since', '2200-01-01T00:00:00Z')).stdout).toBe(
      'nothing has gone wrong since 2200-01-01T00:00:00Z\n',
    )
    expect(await cli('incidents', '--since', 'lately')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("nor how long ago, such as '2h'"),
    })
    expect((await cli('incidents')).stdout).toMatch(
      new RegExp(`FINGERPRINT +RUNS +WORKFLOW +STEP +LAST +ERROR\n${fingerprint} +\\d+ +flaky .*out of order`),
    )
    const asked = await cli('retry', '--incident', fingerprint)
    expect(asked).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/this would retry \d+ runs \(i2, i1.*\); say --yes to do it/),
    })
    expect(await cli('retry', '--incident', fingerprint, '--tag', 'customer:nobody', '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no run is meant by that'),
    })
    const { runId, matches } = await json('retry', '--incident', fingerprint, '--yes')
    expect(await local.result(runId)).toMatchObject({ matched: matches, done: matches })
    expect(await cli('retry', 'i1', '--status', 'failed')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('one of the two'),
    })
    expect(await cli('retry')).toMatchObject({ code: 1, stderr: expect.stringContaining('say which run to retry') })
    expect(await cli('cancel', '--workflow', 'nothing-like-it')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no workflow is named 'nothing-like-it'"),
    })
    expect(await cli('retry', '--status', 'failed', '--per-second', '101')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('from 1 to 100'),
    })
  })

  test('erase removes an ended run, if one says so', async () => {
    await local.start(flaky, undefined, { id: 'e1' })
    await asleep('e1', 'failed')
    expect(await cli('erase', 'e1')).toMatchObject({ code: 1, stderr: expect.stringContaining('say --yes to do it') })
    expect((await cli('erase', 'e1', '--yes')).stdout).toBe('erased e1\n')
    expect((await cli('show', 'e1')).code).toBe(1)
  })

  test('retry lets a failed run go on, rerun repeats it from a step', async () => {
    await local.start(flaky, undefined, { id: 'f1' })
    await asleep('f1', 'failed')
    expect((await cli('show', 'f1')).stdout).toMatch(
      /✗ failed[\s\S]*because of Error: out of order[\s\S]*overwinter retry f1/,
    )
    isBroken = false
    expect((await cli('retry', 'f1')).stdout).toMatch(/^f1 is retried/)
    expect(await local.result('f1')).toBe(2)
    expect((await cli('rerun', 'f1', '--from', 'second', '--id', 'f2')).stdout).toBe(
      "started f2, from 'second' of f1\n",
    )
    expect(await local.result('f2')).toBe(2)
    expect((await cli('rerun', 'f1', '--from', 'third')).code).toBe(1)
  })
})

test('retry is not suggested where it would be refused: after compensation', async () => {
  const started = await cli('start', 'undone', '--id', 'u1', '--wait')
  const shown = await cli('show', 'u1')
  const { stderr: refusal } = await cli('retry', 'u1')
  expect(refusal).toBe(
    "run 'u1' has undone its steps (ctx.compensate), so it cannot go on from the one that failed; rerun it from the beginning\n",
  )
  expect([started.stderr, shown.stdout].map((text) => text.trimEnd().split('\n').at(-1))).toEqual([
    refusal.trimEnd(),
    refusal.trimEnd(),
  ])
})

test('runs that have undone their steps are not promised to be retried; they are rerun, from the beginning or knowingly from a step', async () => {
  for (const id of ['c1', 'c2']) {
    await local.start(undone, undefined, { id })
    await asleep(id, 'failed')
  }
  const { incidents } = await json('incidents', '--workflow', 'undone')
  const { fingerprint, count } = incidents[0]
  expect(await cli('retry', '--incident', fingerprint, '--yes')).toMatchObject({
    code: 1,
    stderr: `this would retry none of ${count} runs:\n${count} have undone their steps (ctx.compensate) and cannot go on: rerun them\n`,
  })
  expect(await cli('rerun', '--incident', fingerprint, '--id-prefix', 'c')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('this would rerun 2 runs (c2, c1); say --yes to do it'),
  })
  const { runId } = await json('rerun', '--incident', fingerprint, '--id-prefix', 'c', '--yes')
  expect(await local.result(runId)).toMatchObject({ matched: 2, done: 2 })
  expect(await cli('rerun', 'c1', '--from', 'take')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('--inherit-undone'),
  })
  expect((await cli('rerun', 'c1', '--from', 'take', '--inherit-undone', '--id', 'c3')).stdout).toBe(
    "started c3, from 'take' of c1\n",
  )
  expect((await cli('rerun', 'c1', '--id', 'c4')).stdout).toBe('started c4, from the beginning of c1\n')
})

test('a run that did not wait for its steps shows which', async () => {
  await local.start(hasty, undefined, { id: 'h1' })
  await asleep('h1', 'completed')
  expect((await cli('show', 'h1')).stdout).toMatch(/● completed +"done"; did not wait for 'mail'$/m)
})

describe('the way to the API', () => {
  test('nothing there: it says how to start it, or that the address may be wrong', async () => {
    const port = await freePort()
    const silent = await overwinter(['runs'], { env: { PORT: String(port) } })
    expect(silent).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `nothing answers on http://localhost:${port}; start it with \`overwinter dev\`\n`,
    })
    const elsewhere = await overwinter(['runs', '--url', 'http://overwinter.invalid'])
    expect(elsewhere).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/nothing answers on http:\/\/overwinter\.invalid \(.*\); is the address right/),
    })
  })

  test('a token opens what asks for one, from the option or the environment', async () => {
    await using guarded = await serveLocal({ local, port: 0, authorize: bearer('secret') })
    const refused = await overwinter(['runs', '--url', guarded.url])
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('give --token') })
    expect((await overwinter(['runs', '--url', guarded.url, '--token', 'secret'])).code).toBe(0)
    expect(
      (await overwinter(['runs'], { env: { OVERWINTER_URL: guarded.url, OVERWINTER_TOKEN: 'secret' } })).code,
    ).toBe(0)
  })
})
