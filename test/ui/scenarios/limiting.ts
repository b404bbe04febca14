import { expect } from 'vitest'
import { inDialog, open, type Scenarios, type Stage, shows } from '../stage.ts'

/** A runner on AWS hears of a pause within ten seconds; until then runs still get through. */
async function startUntilHeld({ api, name }: Stage): Promise<string> {
  for (let i = 1; ; i++) {
    const id = name(`held-${i}`)
    await api.start('echo', id, id)
    if ((await api.until(id, 'queued', 'completed')).status === 'queued') return id
  }
}

/** Runs that wait for their turn. */
export const limiting: Scenarios = {
  async 'a queued run says its place; the limit is raised, and it goes'(stage) {
    const { page, api, name } = stage
    const ids = [1, 2, 3].map((i) => name(`packing-${i}`))
    for (const id of ids) await api.start('packing', id, { warehouse: name('north') })
    await open(stage, '/runs?status=queued&workflow=packing')
    await page.getByRole('link', { name: ids[2]! }).click()
    await shows(page, 'queued')
    await page
      .getByText(`It waits for its turn at limit 'packing:concurrency' for '${name('north')}' (place 2`)
      .waitFor()
    await page.getByRole('link', { name: 'raise the limit' }).click()
    const line = page.getByRole('row', { name: name('north') })
    await line.getByRole('link', { name: ids[2]! }).waitFor()
    await page.getByRole('button', { name: 'Set packing:concurrency' }).click()
    await page.getByLabel('At once').fill('none')
    await inDialog(page, 'Set').click()
    await page.locator('dialog .problem', { hasText: 'whole number' }).waitFor()
    await page.getByLabel('At once').fill('3')
    await inDialog(page, 'Set').click()
    await page.getByText('set here; the code has 1 at once').waitFor()
    for (const id of ids) await api.until(id, 'waiting')
    await page.getByText('3 inside, 0 waiting').waitFor()
    await page.getByRole('button', { name: 'Reset packing:concurrency' }).click()
    await inDialog(page, 'Reset').click()
    await page.getByText('set here').waitFor({ state: 'detached' })
  },

  async 'a limit is paused and admits nothing until it is resumed'(stage) {
    const { page, api, name } = stage
    await api.start('packing', name('before'), { warehouse: name('west') })
    await open(stage, '/limits/packing:concurrency')
    await page.getByRole('button', { name: 'Pause packing:concurrency' }).click()
    await inDialog(page, 'Pause').click()
    await page.getByText('paused: admits nothing').waitFor()
    await api.start('packing', name('after'), { warehouse: name('west') })
    await open(stage, `/runs/${name('after')}`)
    await page.getByText('which is paused (place 1)').waitFor()
    await open(stage, '/limits/packing:concurrency')
    await page.getByRole('button', { name: 'Resume packing:concurrency' }).click()
    await inDialog(page, 'Resume').click()
    await page.getByText('paused: admits nothing').waitFor({ state: 'detached' })
  },

  async 'everything is paused, seen to be, and resumed at a rate'(stage) {
    const { page, api } = stage
    await open(stage, '/limits')
    await page.getByRole('button', { name: 'Pause everything' }).click()
    await inDialog(page, 'Leave it').click()
    await page.getByText('Nothing is paused').waitFor()
    await page.getByRole('button', { name: 'Pause everything' }).click()
    await inDialog(page, 'Pause everything').click()
    await page.getByText('Everything is paused').waitFor()
    const held = await startUntilHeld(stage)
    await open(stage, `/runs/${held}`)
    await page.getByText('It waits for the end of the pause of everything').waitFor()
    await page.getByRole('link', { name: 'let everything go on' }).click()
    await page.getByRole('button', { name: 'Resume everything' }).click()
    await page.getByLabel('Runs a second').fill('20')
    await inDialog(page, 'Resume').click()
    await page.getByText('Nothing is paused').waitFor()
    expect((await api.until(held, 'completed')).output).toBe(held)
  },
}
