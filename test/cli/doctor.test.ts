import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { checkRuns, checkSchedules } from '../../cli/doctor/checks.ts'
import { checkFlow } from '../../cli/doctor/flow.ts'
import { schedule, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { serveLocal } from '../http/by-the-document.ts'
import { freePort } from '../outside/free-port.ts'
import { AwsFiles, NOBODY } from './aws-files.ts'
import { type Account, fakeAws } from './fake-aws.ts'
import { overwinter, Project, pause } from './fixture.ts'

const DAY_MS = 86_400_000
const nap = workflow('nap', { input: z.object({ name: z.string() }) }, async (ctx) => ctx.sleep('night', '8h'))
const broken = workflow('broken', async (ctx) =>
  ctx.step('break', () => Promise.reject(new Error('out of order')), { retry: { attempts: 1 } }),
)
const foreignAwait = workflow('stuck', async (ctx) => {
  await ctx.step('a', () => 1)
  await new Promise((resolve) => setTimeout(resolve, 5))
  return ctx.step('b', () => 2)
})
const nightly = schedule('nightly', { cron: '30 2 * * *' }, nap, { name: 'Ada' })
const weekly = schedule('weekly', { every: '7d' }, nap, { name: 'Bo' })

test('doctor names some of many pauses, the widest first, and tells how fast those go on that are resumed', () => {
  const pauses = [
    ...['a', 'b', 'c', 'd', 'e'].map((run) => ({ scope: { run }, since: 0 })),
    { scope: { all: true as const }, since: 0, perSecond: 1, waiting: { count: 7 } },
  ]
  const checks = checkFlow({ pauses, limits: [], queued: { runs: [] } }, 60_000)
  expect(checks.map(({ state, text }) => `${state} ${text}`)).toEqual([
    'ok everything goes on, 1 run a second; 7 runs queued',
    ...['a', 'b', 'c', 'd'].map(
      (run) =>
        `warn run '${run}' has been paused for 1 min, 0 runs queued; \`overwinter resume --run ${run}\` resumes it`,
    ),
    'warn there is 1 more pause; `overwinter pauses` lists them all',
    'ok no run is queued',
  ])
})

describe('doctor, for a server', () => {
  test('is content with a healthy one, and warns of failed runs', async () => {
    await using well = await serveLocal({ path: ':memory:', workflows: [nap, broken], port: 0, log: () => {} })
    await well.local.start(nap, { name: 'Ada' })
    await well.local.start(broken, undefined, { id: 'f0' })
    while ((await well.local.get('f0')).status !== 'failed') await pause(5)
    const { code, stdout } = await overwinter(['doctor', '--url', well.url])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /✓ http:\S+ answers in .*\n✓ it runs broken, nap\n✓ 1 run waiting, 0 of them due now\n✓ no run is overdue/,
    )
    expect(stdout).toMatch(
      /! 1 run failed; .*\(f0\)\n✓ nothing is paused\n✓ no run is queued\n✓ there are no schedules\n$/,
    )
  })

  test('says what is paused, how many runs are queued, and what ends that', async () => {
    const order = workflow('order', { concurrency: { limit: 1 } }, async (ctx) => ctx.sleep('1d'))
    await using held = await serveLocal({ path: ':memory:', workflows: [nap, order], port: 0, log: () => {} })
    const { local } = held
    for (const id of ['o1', 'o2', 'o3']) await local.start(order, undefined, { id })
    while ((await local.get('o1')).status !== 'sleeping') await pause(5)
    expect((await overwinter(['doctor', '--url', held.url])).stdout).toContain(
      '✓ nothing is paused\n✓ 2 runs queued; `overwinter limits` and `overwinter pauses` say where\n',
    )
    await local.pause({ run: 'o2' })
    await local.pause({ workflow: 'nap' })
    await local.limits.pause('order:concurrency')
    await local.start(nap, { name: 'Ada' }, { id: 'n1' })
    while ((await local.get('n1')).status !== 'queued') await pause(5)
    const { code, stdout } = await overwinter(['doctor', '--url', held.url])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /! workflow 'nap' has been paused for \d.*, 1 run queued; `overwinter resume nap` resumes it\n! run 'o2' has been paused/,
    )
    expect(stdout).toContain(
      "! limit 'order:concurrency' is paused, 2 queued; `overwinter limits resume order:concurrency` resumes it\n! 3 runs queued;",
    )
  })

  test('reads the database of one that is down', async () => {
    using project = new Project()
    const world = await Local.open({
      path: project.path('.overwinter/runs.db'),
      workflows: [nap],
      schedules: [nightly],
      log: () => {},
    })
    await world.start(nap, { name: 'Ada' }, { id: 'forgotten', delay: '1h' })
    while ((await world.schedules.list())[0]?.nextDue === undefined) await pause(5)
    await world.close()
    const { code, stdout } = await overwinter(['doctor', '--url', `http://localhost:${await freePort()}`], {
      cwd: project.folder,
    })
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /✗ nothing answers on .*overwinter dev[\s\S]*read .*runs\.db instead\n✓ 2 runs waiting[\s\S]*✓ 1 schedule; none is behind its plan\n$/,
    )
  })

  test('finds stuck and overdue runs', async () => {
    await using sick = await serveLocal({ path: ':memory:', workflows: [foreignAwait, nap], port: 0, log: () => {} })
    await sick.local.start(foreignAwait, undefined, { id: 'parked' })
    await sick.local.start(nap, { name: 'Ada' }, { id: 'sleeper' })
    while ((await sick.local.get('parked')).status !== 'stuck') await pause(5)
    const { code, stdout } = await overwinter(['doctor', '--json', '--url', sick.url])
    expect([code, JSON.parse(stdout)]).toMatchObject([
      1,
      { ok: false, checks: expect.arrayContaining([expect.objectContaining({ name: 'stuck', state: 'bad' })]) },
    ])

    const tomorrow = await checkRuns((filter) => sick.local.list(filter), Date.now() + DAY_MS)
    expect(tomorrow).toContainEqual({
      name: 'overdue',
      state: 'bad',
      text: '1 run overdue: no runner has claimed them in time (sleeper)',
    })
  })

  test('finds schedules that are behind their plan; a paused one is not', async () => {
    await using local = await Local.open({
      path: ':memory:',
      workflows: [],
      schedules: [nightly, weekly],
      log: () => {},
    })
    const settled = async () => {
      const schedules = await local.schedules.list()
      return schedules.every(({ nextDue, isPaused }) => nextDue !== undefined || isPaused) ? schedules : undefined
    }
    let schedules: Awaited<ReturnType<typeof settled>>
    while (!(schedules = await settled())) await pause(5)
    const due = schedules[0]!.nextDue!
    expect(checkSchedules(schedules, due + 60_000)).toEqual([
      { name: 'schedules', state: 'ok', text: '2 schedules; none is behind its plan' },
    ])
    expect(checkSchedules(schedules, due + 120_000)).toMatchObject([
      { name: 'schedules', state: 'bad', text: 'schedule nightly was due 2 min ago and has not started its run' },
    ])
    await local.schedules.pause('nightly')
    while (!(await local.schedules.list())[0]!.isPaused) await pause(5)
    expect(checkSchedules(await local.schedules.list(), due + 120_000)).toMatchObject([
      { state: 'ok', text: '2 schedules, 1 of them paused; none is behind its plan' },
    ])
  })
})

test('doctor warns of schedules whose last run could not be started or went wrong', async () => {
  await using local = await Local.open({
    path: ':memory:',
    workflows: [],
    schedules: [nightly, schedule('weekly', { every: '7d' }, broken, undefined)],
    log: () => {},
  })
  await local.schedules.trigger('weekly')
  while (!(await local.schedules.list())[1]!.lastError) await pause(5)
  expect(checkSchedules(await local.schedules.list())).toMatchObject([
    { name: 'schedules', state: 'warn', text: expect.stringMatching(/^schedule weekly: .*out of order/) },
  ])
})

describe('doctor, for a deployment', () => {
  const HEALTHY: Account = {
    stack: 'Shop',
    queue: [0, 2],
    deadLetters: [0, 0],
    hasScheduleGroup: true,
    secret: 'shop-secret',
  }
  const examine = async (account: Account, args: string[] = ['--stack', 'Shop', '--profile', 'shop']) => {
    await using aws = await fakeAws(account)
    using files = new AwsFiles()
    return await overwinter(['doctor', ...args], { env: { ...files.env, AWS_ENDPOINT_URL: aws.url } })
  }

  test('looks at its queue, its dead letters and its schedule group, and says what it has not looked at', async () => {
    expect(await examine(HEALTHY)).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        '– the API, its runs and its schedules were not checked; --url <address> does',
        '✓ 0 wake-ups wait in the queue; 2 are with runners',
        '✓ there are no dead letters',
        '✓ the schedule group shop-schedules is there',
        '',
      ].join('\n'),
    })
  })

  test('a full queue is no trouble, an old one is', async () => {
    const busy = await examine({ ...HEALTHY, queue: [500, 10], oldestSeconds: 12 })
    expect(busy).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('✓ 500 wake-ups wait in the queue, the oldest for 12 s; 10 are with runners'),
    })
    const blocked = await examine({ ...HEALTHY, queue: [500, 0], oldestSeconds: 600 })
    expect(blocked).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(
        '✗ 500 wake-ups wait in the queue, the oldest for 10 min; 0 are with runners. Is the',
      ),
    })
  })

  test('dead letters and a lost schedule group are trouble', async () => {
    const { code, stdout } = await examine({ ...HEALTHY, deadLetters: [2, 1], hasScheduleGroup: false })
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /✗ 3 dead letters: .*\n✗ the schedule group shop-schedules is gone: long sleeps cannot be armed/,
    )
  })

  test('lists what it could not check, and why: another stack, another key, no key', async () => {
    const unchecked = '✗ queues, dead letters and the schedule group were not checked'
    const elsewhere = await examine(HEALTHY, ['--stack', 'Shpo', '--profile', 'shop'])
    expect(elsewhere).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`${unchecked}: ListStackResources: Stack with id Shpo does not exist`),
    })
    const stranger = await examine(HEALTHY, ['--stack', 'Shop'])
    expect(stranger).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`${unchecked}: ListStackResources: The request signature does not match`),
    })
    const nobody = await overwinter(['doctor', '--stack', 'Shop'], { env: { ...NOBODY, AWS_REGION: 'eu-north-1' } })
    expect(nobody).toMatchObject({ code: 1, stdout: expect.stringContaining(`${unchecked}: no AWS credentials`) })
  })

  test('without --stack it says that there is more to see', async () => {
    const { stdout } = await overwinter(['doctor', '--url', 'http://overwinter.invalid'])
    expect(stdout).toMatch(
      /\n– queues, dead letters and the schedule group were not checked; --stack <name> does, with AWS credentials\n$/,
    )
  })
})
