import { expect } from 'vitest'
import { Api, inDialog, open, type Stage, shows } from './stage.ts'

/** What people do on the dashboard. Each is played from the first click to what the API says of it. */
export const scenarios: Record<string, (stage: Stage) => Promise<void>> = {
  async 'a run is started by a form, and the page goes to it'(stage) {
    const { page, base, name } = stage
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
    const { input } = await new Api(base).get(name('by-form'))
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
    const { page, base, name } = stage
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
    expect(await new Api(base).count(`tag=${name('twice')}`)).toBe(1)
  },

  async 'a sleeping run is woken'(stage) {
    const { page, base, name } = stage
    const api = new Api(base)
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
    const { page, base, name } = stage
    const api = new Api(base)
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
    const { page, base, name } = stage
    const api = new Api(base)
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
    const { page, base, name, setGateway } = stage
    await setGateway(true)
    await new Api(base).start('payment', name('failed'), { order: 'o-1' })
    await open(stage, `/runs/${name('failed')}`)
    await page.locator('.reason-line', { hasText: 'the gateway answered 503' }).waitFor()
    await setGateway(false)
    await page.getByRole('button', { name: 'Let it go on from what failed' }).click()
    await inDialog(page, 'Retry').click()
    await shows(page, 'completed')
  },

  async 'a run is rerun from a step'(stage) {
    const { page, base, name, setGateway } = stage
    await setGateway(false)
    const api = new Api(base)
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

  async 'a graph shows what came after what, of code and of definitions'(stage) {
    const { page, base, name } = stage
    const api = new Api(base)
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
    const { page, base, name, setGateway } = stage
    const api = new Api(base)
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
    const { page, base, name } = stage
    const api = new Api(base)
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

  async 'many failures are one incident, and are retried together'(stage) {
    const { page, base, name, setGateway } = stage
    const api = new Api(base)
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
    await page.locator('dialog').getByRole('link').click()
    await shows(page, 'completed')
    for (const id of ids) await api.until(id, 'completed')
  },

  async 'a script in a payload is text'(stage) {
    const { page, base, name } = stage
    const script = '<script>window.isHurt = true</script><img src=x onerror="window.isHurt = true">'
    const api = new Api(base)
    await api.start('echo', name('script'), { [script]: script })
    await api.until(name('script'), 'completed')
    await open(stage, `/runs/${name('script')}`)
    await page.locator('.payload', { hasText: 'Output' }).getByText('window.isHurt').first().waitFor()
    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByRole('link', { name: 'step.completed' }).click()
    await page.locator('.panel .payload', { hasText: 'Result' }).getByText('window.isHurt').first().waitFor()
    expect(await page.evaluate("'isHurt' in window")).toBe(false)
  },

  async 'what destroys asks first, and names what is lost'(stage) {
    const { page, base, name } = stage
    const api = new Api(base)
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
