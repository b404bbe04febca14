import { expect } from 'vitest'
import { inDialog, open, type Scenarios, shows } from '../stage.ts'

/** What is done to runs. */
export const steering: Scenarios = {
  async 'a sleeping run is woken'(stage) {
    const { page, api, name } = stage
    await api.start('nap', name('nap'), { name: 'Ada' })
    await open(stage, `/runs/${name('nap')}`)
    await page.getByText("It waits for the sleep 'winter'").waitFor()
    await page.getByRole('button', { name: 'End its sleeps now' }).click()
    await inDialog(page, 'Wake').click()
    await shows(page, 'completed')
    await page.locator('.payload', { hasText: 'Output' }).getByText('Ada has slept').waitFor()
    expect(await api.get(name('nap'))).toMatchObject({ status: 'completed' })
  },

  async 'a signal is sent by the form of its schema, and its problems stand beside its fields'(stage) {
    const { page, api, name } = stage
    await api.start('order', name('signalled'), { customer: 'Ada', amount: 1, kind: 'book' })
    await api.until(name('signalled'), 'waiting')
    await open(stage, `/runs/${name('signalled')}`)
    await page.getByRole('button', { name: 'Send it what it waits for' }).click()
    await inDialog(page, 'Send').click()
    await page.locator('dialog .problem', { hasText: 'is needed' }).waitFor()
    await page.locator('dialog').getByLabel('by').fill('Grace')
    await inDialog(page, 'Send').click()
    await shows(page, 'completed')
    expect((await api.until(name('signalled'), 'completed')).output).toMatchObject({ by: 'Grace' })
  },

  async 'a callback is answered'(stage) {
    const { page, api, name } = stage
    await api.start('review', name('review'), { document: 'plan' })
    await api.until(name('review'), 'waiting')
    await open(stage, `/runs/${name('review')}`)
    await page.getByRole('button', { name: 'See its link, and answer' }).click()
    await page.getByLabel('Result, as JSON').fill('{ "isFine": true }')
    await inDialog(page, 'Complete it').click()
    await shows(page, 'completed')
    expect((await api.get(name('review'))).output).toEqual({ document: 'plan', isFine: true })
  },

  async 'a failed run says why, is retried, and completes'(stage) {
    const { page, api, name, setGateway } = stage
    await setGateway(true)
    await api.start('payment', name('failed'), { order: 'o-1' })
    await open(stage, `/runs/${name('failed')}`)
    await page.locator('.reason-line', { hasText: 'the gateway answered 503' }).waitFor()
    await setGateway(false)
    await page.getByRole('button', { name: 'Let it go on from what failed' }).click()
    await inDialog(page, 'Retry').click()
    await shows(page, 'completed')
  },

  async 'a run is rerun from a step'(stage) {
    const { page, api, name, setGateway } = stage
    await setGateway(false)
    await api.start('payment', name('again'), { order: 'o-2' })
    await api.until(name('again'), 'completed')
    await open(stage, `/runs/${name('again')}`)
    await page.getByRole('link', { name: 'charge' }).click()
    await page.getByRole('button', { name: 'Rerun from here' }).click()
    await inDialog(page, 'Start the new run').click()
    await page.waitForURL((url) => url.pathname.startsWith('/ui/runs/') && !url.pathname.endsWith(name('again')))
    await shows(page, 'completed')
    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByText('run.rerun').waitFor()
  },

  async 'many failures are one incident, and are retried together'(stage) {
    const { page, api, name, setGateway } = stage
    await setGateway(true)
    const ids = Array.from({ length: 12 }, (_, i) => name(`bulk-${i}`))
    for (const id of ids) await api.start('payment', id, { order: id })
    for (const id of ids) await api.until(id, 'failed')
    await open(stage, '/incidents?workflow=payment')
    const incident = page.locator('.incident', { hasText: 'the gateway answered' })
    await incident.waitFor()
    expect(await incident.count()).toBe(1)
    await incident.getByRole('link').first().click()
    await setGateway(false)
    await page.getByRole('button', { name: 'Retry all' }).click()
    await page.getByLabel('Runs a second').fill('1000')
    await inDialog(page, 'See how many').click()
    await page.locator('dialog .problem', { hasText: 'from 1 to 100' }).waitFor()
    await page.getByLabel('Runs a second').fill('100')
    await inDialog(page, 'See how many').click()
    await page.locator('.would', { hasText: /Would retry \d+ runs/ }).waitFor()
    await inDialog(page, /^Retry \d+ runs$/).click()
    await page.locator('dialog').getByRole('link').first().click()
    await shows(page, 'completed')
    for (const id of ids) await api.until(id, 'completed')
  },

  async 'runs that have undone their steps are not promised to be retried, and are rerun together'(stage) {
    const { page, api, name, setGateway } = stage
    await setGateway(true)
    for (const to of ['Rome', 'Oslo', 'Bonn']) await api.start('trip', name(`trip-${to}`), { to })
    for (const to of ['Rome', 'Oslo', 'Bonn']) await api.until(name(`trip-${to}`), 'failed')
    await open(stage, '/incidents?workflow=trip')
    await page.getByRole('button', { name: '1 h', exact: true }).click()
    const incident = page.locator('.incident', { hasText: 'declined' })
    await incident.waitFor()
    expect(await incident.count()).toBe(1)
    await incident.getByRole('link').first().click()
    await page.getByRole('button', { name: 'Retry all' }).click()
    await inDialog(page, 'See how many').click()
    await page.locator('.would', { hasText: /Would retry 0 of 3 runs.*3 have undone their steps/ }).waitFor()
    expect(await inDialog(page, /^Retry \d+/).count()).toBe(0)
    await page.keyboard.press('Escape')
    await setGateway(false)
    await page.getByRole('button', { name: 'Rerun all' }).click()
    await page.getByLabel('Only with the tag').fill('to:Oslo')
    await inDialog(page, 'See how many').click()
    await page.locator('.would', { hasText: 'Would rerun 1 run' }).waitFor()
    await inDialog(page, 'Rerun 1 run').click()
    await page.locator('dialog .would', { hasText: '1 of 1 run rerun' }).waitFor()
    await page.keyboard.press('Escape')
  },

  async 'a rerun from a step says what it would take over that was undone'(stage) {
    const { page, api, name, setGateway } = stage
    await setGateway(true)
    await api.start('trip', name('undone'), { to: 'Lima' })
    await api.until(name('undone'), 'failed')
    await open(stage, `/runs/${name('undone')}`)
    await page.getByRole('link', { name: 'pay' }).click()
    await page.getByRole('button', { name: 'Rerun from here' }).click()
    await page
      .locator('dialog', { hasText: 'would take over the results of book as if they were still valid' })
      .waitFor()
    await page.keyboard.press('Escape')
    await setGateway(false)
    await page.locator('.remedy').getByRole('button', { name: 'Rerun' }).click()
    await inDialog(page, 'Start the new run').click()
    await page.waitForURL((url) => url.pathname.startsWith('/ui/runs/') && !url.pathname.endsWith(name('undone')))
    await shows(page, 'completed')
  },

  async 'what destroys asks first, and names what is lost'(stage) {
    const { page, api, name } = stage
    await api.start('nap', name('ended'), {})
    await api.until(name('ended'), 'sleeping')
    await open(stage, `/runs/${name('ended')}`)
    await page.getByRole('button', { name: 'Terminate' }).click()
    await page.locator('dialog', { hasText: 'no compensation' }).waitFor()
    await page.keyboard.press('Escape')
    expect(await api.get(name('ended'))).toMatchObject({ status: 'sleeping' })
    await page.getByRole('button', { name: 'Terminate' }).click()
    await page.getByLabel('Reason').fill('a mistake')
    await inDialog(page, 'Terminate').click()
    await page.getByText('It was terminated: a mistake').waitFor()
    await page.getByRole('button', { name: 'Erase' }).click()
    await inDialog(page, 'Erase for good').click()
    await page.waitForURL('**/ui/runs')
    expect(await api.count(`idPrefix=${name('ended')}`)).toBe(0)
  },
}
