import { expect } from 'vitest'
import { inDialog, open, type Scenarios } from '../stage.ts'

/** How runs are found and looked at. */
export const looking: Scenarios = {
  async 'runs are filtered, the address says so, and a view is kept under a name'(stage) {
    const { page, api, name } = stage
    await api.start('nap', name('kept-1'), {})
    await api.start('echo', name('kept-2'), 1)
    await api.until(name('kept-1'), 'sleeping')
    await open(stage, '/runs')
    await page.getByLabel('Id begins with').fill(name('kept-'))
    await page.waitForURL('**/ui/runs?idPrefix=*')
    await page.getByRole('button', { name: /^sleeping/ }).click()
    await page.waitForURL('**status=sleeping*')
    await page.getByRole('link', { name: name('kept-2') }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Save view' }).click()
    await page.getByLabel('Name').fill('asleep')
    await inDialog(page, 'Save').click()
    const address = page.url()
    await open(stage, '/runs')
    await page.getByRole('button', { name: 'asleep', exact: true }).click()
    await page.getByRole('link', { name: name('kept-1') }).waitFor()
    expect(page.url()).toBe(address)
    await page.getByRole('button', { name: 'Forget the view asleep' }).click()
  },

  async 'the timeline folds what repeats, finds rows, and keeps to scale where it is told to'(stage) {
    const { page, api, name } = stage
    await api.start('batch', name('folded'), { items: 12 })
    await api.until(name('folded'), 'completed')
    await open(stage, `/runs/${name('folded')}`)
    const rows = page.locator('.timeline-row')
    await page.getByRole('button', { name: /items.*×12.*median/ }).click()
    await rows.nth(12).waitFor()
    await page.getByLabel('Find a step').fill('items/7/')
    await page.waitForURL('**q=items*')
    await rows.nth(2).waitFor({ state: 'detached' })
    expect(await rows.count()).toBe(2)
    await page.getByLabel('True to scale').check()
    await page.waitForURL('**scale=true*')
    await page.getByLabel('Only errors').check()
    await page.getByText('No row fits').waitFor()
  },

  async 'a graph shows what came after what, of code and of definitions'(stage) {
    const { page, api, name } = stage
    await api.start('order', name('graph'), { customer: 'Ada', amount: 1, kind: 'book' })
    await api.until(name('graph'), 'waiting')
    await open(stage, `/runs/${name('graph')}?tab=graph`)
    await page.locator('.box', { hasText: 'approved' }).waitFor()
    const top = async (title: string) => (await page.locator('.box', { hasText: title }).boundingBox())!.y
    expect(await top('reserve')).toBeLessThan(await top('charge'))
    expect(await top('charge')).toBe(await top('pack'))
    expect(await top('pack')).toBeLessThan(await top('approved'))
    await api.start('diamond', name('diamond'), { cents: 100 })
    await api.until(name('diamond'), 'completed')
    await open(stage, `/runs/${name('diamond')}?tab=graph`)
    await page.locator('.box', { hasText: 'bill' }).waitFor()
    expect(await top('tax')).toBe(await top('discount'))
    expect(await page.locator('.edge').count()).toBe(4)
  },

  async 'a run is compared with the last that completed'(stage) {
    const { page, api, name, setGateway } = stage
    await setGateway(false)
    await api.start('payment', name('good'), { order: 'o-3' })
    await api.until(name('good'), 'completed')
    await setGateway(true)
    await api.start('payment', name('bad'), { order: 'o-3' })
    await api.until(name('bad'), 'failed')
    await open(stage, `/runs/${name('bad')}?tab=compare`)
    const row = page.locator('.compare-row', { hasText: 'charge' })
    await row.getByText('other outcome').waitFor()
    expect(await page.getByLabel('Compare with').inputValue()).toBe(name('good'))
    await page.getByLabel('Compare with').fill(name('no-such-run'))
    await page.getByLabel('Compare with').press('Enter')
    await page.locator('.trouble', { hasText: name('no-such-run') }).waitFor()
  },

  async 'time travel shows the run as it was, under an address that can be sent'(stage) {
    const { page, api, name } = stage
    await api.start('order', name('travel'), { customer: 'Ada', amount: 1, kind: 'book' })
    await api.until(name('travel'), 'waiting')
    await open(stage, `/runs/${name('travel')}?tab=travel`)
    const then = page.getByRole('region', { name: 'Open then' })
    await then.getByRole('link', { name: 'approved' }).waitFor()
    await page.getByRole('slider').fill('1')
    await page.locator('.travel-event', { hasText: 'step.completed' }).waitFor()
    expect(await then.getByRole('link', { name: 'approved' }).count()).toBe(0)
    await page.goto(page.url())
    await page.locator('.travel-event', { hasText: 'step.completed reserve' }).waitFor()
  },

  async 'a script in a payload is text'(stage) {
    const { page, api, name } = stage
    const script = '<script>window.isHurt = true</script><img src=x onerror="window.isHurt = true">'
    await api.start('echo', name('script'), { [script]: script })
    await api.until(name('script'), 'completed')
    await open(stage, `/runs/${name('script')}`)
    await page.locator('.payload', { hasText: 'Output' }).getByText('window.isHurt').first().waitFor()
    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByRole('link', { name: 'step.completed' }).click()
    await page.locator('.panel .payload', { hasText: 'Result' }).getByText('window.isHurt').first().waitFor()
    expect(await page.evaluate("'isHurt' in window")).toBe(false)
  },
}
