import { expect, test } from 'vitest'
import { overwinter, Project, pause, startDev } from './fixture.ts'

const FLOWS = `
import { schedule, workflow } from 'overwinter'
export const report = workflow('report', async (_ctx, day: string) => day)
export const nightly = schedule('nightly', { cron: '30 2 1 * *' }, report, 'today')
`

const BROKEN = `
import { schedule, workflow } from 'overwinter'
export const broken = workflow('broken', async () => { throw new Error('out of paper') })
export const weekly = schedule('weekly', { every: '7d' }, broken, undefined)
export const once = schedule('once', { cron: '0 0 0 2 1 * 2026' }, broken, undefined)
`

test('dev takes up the schedules that a file exports; they are listed, triggered, paused and resumed', async () => {
  using project = new Project({ 'workflows/index.ts': FLOWS })
  await using dev = startDev([], { cwd: project.folder, env: { PORT: '0' } })
  const [, url] = await dev.says(/on (http:\/\/localhost:\d+)/)
  const cli = async (...args: string[]) => overwinter(['schedules', ...args, '--url', url!])
  expect((await cli()).stdout).toMatch(
    /^nightly {2}report {2}30 2 1 \* \* \(UTC\) {2}next .* \(in .*\) {2}0 started\n$/,
  )
  expect((await cli('trigger', 'nightly')).stdout).toBe('nightly starts a run now\n')
  expect((await cli('pause', 'nightly')).code).toBe(0)
  let view: { isPaused: boolean; started: number } | undefined
  while (!view?.isPaused) {
    await pause(50)
    view = JSON.parse((await cli('--json')).stdout).schedules[0]
  }
  expect(view.started).toBe(1)
  expect((await cli('resume', 'nightly')).stdout).toBe('nightly goes on\n')
  expect(await cli('pause', 'weekly')).toMatchObject({ code: 1, stderr: "no schedule 'weekly'; known: nightly\n" })
})

test('a schedule whose last run went wrong says so, and one whose times are over too', async () => {
  using project = new Project({ 'workflows/index.ts': BROKEN })
  await using dev = startDev([], { cwd: project.folder, env: { PORT: '0' } })
  const [, url] = await dev.says(/on (http:\/\/localhost:\d+)/)
  const cli = async (...args: string[]) => (await overwinter(['schedules', ...args, '--url', url!])).stdout
  await cli('trigger', 'weekly')
  while (!(await cli()).includes('trouble')) await pause(50)
  expect(await cli()).toMatch(
    /^once .* never again {2}0 started\nweekly .* 1 started\n {2}trouble .* ago: .*out of paper\n$/,
  )
})
