import { expect, test } from 'vitest'
import { overwinter, Project, pause, startDev } from './fixture.ts'

const FLOWS = `
import { schedule, workflow } from 'overwinter'
export const report = workflow('report', async (_ctx, day: string) => day)
export const nightly = schedule('nightly', { cron: '30 2 1 * *' }, report, 'today')
`

test('dev takes up the schedules that a file exports; they are listed, triggered, paused and resumed', async () => {
  using project = new Project({ 'workflows/index.ts': FLOWS })
  await using dev = startDev([], { cwd: project.folder, env: { PORT: '0' } })
  const [, url] = await dev.says(/on (http:\/\/localhost:\d+)/)
  const cli = async (...args: string[]) => overwinter(['schedules', ...args, '--url', url!])
  expect((await cli()).stdout).toMatch(/^nightly {2}report {2}30 2 1 \* \* \(UTC\) {2}next .* \(in .*\) {2}0 started\n$/)
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
