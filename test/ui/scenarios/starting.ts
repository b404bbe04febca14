import { expect } from 'vitest'
import { open, type Scenarios, shows } from '../stage.ts'

/** How runs are started. */
export const starting: Scenarios = {
  async 'a run is started by a form, and the page goes to it'(stage) {
    const { page, api, name } = stage
    await open(stage, '/workflows/order')
    await page.getByLabel('customer').fill('Grace')
    await page.getByLabel('amount').fill('12.5')
    await page.getByLabel('kind').selectOption({ label: 'film' })
    await page.getByLabel('street').fill('Elm 1')
    await page.getByLabel('city').fill('Ulm')
    await page.getByRole('button', { name: 'Add to notes' }).click()
    await page.getByLabel('1', { exact: true }).fill('ring twice')
    await page.getByText('Id, delay, tags').click()
    await page.getByLabel('Id optional').fill(name('by-form'))
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.waitForURL(`**/ui/runs/${name('by-form')}`)
    await shows(page, 'waiting')
    const { input } = await api.get(name('by-form'))
    expect(input).toEqual({
      ...{ customer: 'Grace', amount: 12.5, quantity: 1, kind: 'film' },
      ...{ address: { street: 'Elm 1', city: 'Ulm' }, notes: ['ring twice'] },
    })
  },

  async 'every problem stands beside its field, and nothing is sent'(stage) {
    const { page } = stage
    await open(stage, '/workflows/order')
    await page.getByLabel('amount').fill('much')
    await page.getByLabel('street').fill('Elm 1')
    const sent: string[] = []
    page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()))
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    const beside = (label: string) => page.locator('.field', { has: page.getByLabel(label) }).locator('.problem')
    await beside('customer').getByText('is needed').waitFor()
    expect(await beside('amount').textContent()).toBe('must be a number')
    expect(await beside('kind').textContent()).toBe('is needed')
    expect(await beside('city').textContent()).toBe('is needed')
    expect(await page.getByLabel('customer').getAttribute('aria-invalid')).toBe('true')
    expect(sent).toEqual([])
  },

  async 'what only the server can say stands beside its field too'(stage) {
    const { page, name } = stage
    await open(stage, '/workflows/echo')
    await page.getByText('Id, delay, tags').click()
    await page.getByLabel('Id optional').fill(name('delayed'))
    await page.getByLabel('Delay optional').fill('soon')
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page
      .locator('.field', { has: page.getByLabel('Delay optional') })
      .locator('.problem')
      .waitFor()
    expect(await page.getByLabel('Id optional').inputValue()).toBe(name('delayed'))
  },

  async 'a double submit is one run'(stage) {
    const { page, api, name } = stage
    await open(stage, '/workflows/nap')
    await page.getByText('Id, delay, tags').click()
    await page.getByLabel('Tags optional').fill(name('twice'))
    // The first is carried out, but nobody hears of it: whoever cannot see that sends it again.
    const keys: (string | undefined)[] = []
    await page.route('**/workflows/nap/runs', async (route) => {
      keys.push(route.request().headers()['idempotency-key'])
      if (keys.length > 1) return route.continue()
      await route.fetch()
      await route.abort()
    })
    const start = page.getByRole('button', { name: 'Start', exact: true })
    await start.dblclick()
    await page.getByText('Lost the server').waitFor()
    await page.getByText('Lost the server').waitFor({ state: 'detached' })
    await start.dblclick()
    await page.waitForURL('**/ui/runs/*')
    await page.unroute('**/workflows/nap/runs')
    expect(new Set(keys).size).toBe(1)
    expect(await api.count(`tag=${name('twice')}`)).toBe(1)
  },
}
