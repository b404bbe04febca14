import type { Browser, Page } from 'playwright-core'
import { serveLocal } from '../functions/local/serve.ts'
import { workflow } from '../sdk/index.ts'
import { Local } from '../sdk/local.ts'
import { openBrowser } from '../test/ui/browser.ts'
import { report } from './report.ts'
import { fillStore } from './ui-store.ts'

const OPENINGS = 5
const COMMITS = 60
const RUNS = 100_000
const FILTERS = ['workflow=w1', 'status=failed', 'status=stuck', 'status=cancelled', 'tag=customer:7', 'idPrefix=run-777', 'workflow=w1&status=failed']

const steps = workflow('steps', async (ctx, { count }: { count: number }) => {
  for (let i = 0; i < count; i++) await ctx.step(`step ${i}`, () => i)
})
const quick = workflow('quick', async (ctx) => ctx.step('one', () => 1))

/** What people feel of the dashboard, in a real browser on a real local server. */
export async function benchUi(): Promise<void> {
  const browser = await openBrowser()
  try {
    await using local = await Local.open({ path: ':memory:', workflows: [steps, quick], log: () => {} })
    await using server = await serveLocal({ local, port: 0 })
    await longHistories(browser, local, server.url)
    await commits(browser, local, server.url)
  } finally {
    await browser.close()
  }
  await filters()
}

async function longHistories(browser: Browser, local: Local, url: string): Promise<void> {
  const opened: Record<number, number> = {}
  for (const count of [100, 10_000]) {
    await (await local.start(steps, { count }, { id: `steps-${count}` })).result()
    for (const tab of ['timeline', 'history']) {
      const page = await openWatching(browser)
      const times: number[] = []
      for (let i = 0; i < OPENINGS; i++) {
        const begun = performance.now()
        await page.goto(`${url}/ui/runs/steps-${count}?tab=${tab}`)
        await page.locator('.timeline-row, .history-row[style]').first().waitFor()
        times.push(performance.now() - begun)
      }
      const nodes = (await page.evaluate("document.querySelectorAll('*').length")) as number
      await page.locator('.virtual').evaluate('(element) => { element.scrollTop = element.scrollHeight / 2 }')
      const longest = Math.max(0, ...((await page.evaluate('longTasks')) as number[]))
      const openMs = Math.round(median(times))
      if (tab === 'timeline') opened[count] = openMs
      report('ui', `${count} steps, ${tab}`, { openMs, nodes, longestTaskMs: Math.round(longest) }, { nodes: 1_500, longestTaskMs: 100 })
      await page.context().close()
    }
  }
  report('ui', '10,000 steps beside 100', { times: round(opened[10_000]! / opened[100]!) }, { times: 3 })
}

/** From the moment at which a start is committed to the one at which its row is in the document. */
async function commits(browser: Browser, local: Local, url: string): Promise<void> {
  const page = await openWatching(browser)
  await page.goto(`${url}/ui/runs`)
  await page.locator('.run-row a').first().waitFor()
  await page.evaluate(`
    window.seenAt = {}
    new MutationObserver(() => {
      for (const { textContent } of document.querySelectorAll('.run-row a')) window.seenAt[textContent] ??= Date.now()
    }).observe(document.body, { childList: true, subtree: true, characterData: true })
  `)
  const times: number[] = []
  for (let i = 0; i < COMMITS; i++) {
    const id = `quick-${i}`
    await local.start(quick, undefined, { id })
    const committedAt = Date.now()
    await page.getByRole('link', { name: id, exact: true }).waitFor()
    times.push(Math.max(0, ((await page.evaluate(`window.seenAt['${id}']`)) as number) - committedAt))
  }
  times.sort((a, b) => a - b)
  report('ui', 'a commit is on the page', { medianMs: median(times), p95Ms: times[Math.floor(COMMITS * 0.95)]! }, { p95Ms: 250 })
}

async function filters(): Promise<void> {
  await using local = await Local.open({ path: ':memory:', workflows: [quick], log: () => {}, concurrency: 0 } as Parameters<typeof Local.open>[0])
  const newest = await fillStore(local.world, RUNS)
  await using server = await serveLocal({ local, port: 0 })
  const timeOf = async (query: string) => {
    const times: number[] = []
    // The first ones pay for what is compiled and cached.
    for (let i = -OPENINGS; i < OPENINGS * 3; i++) {
      const begun = performance.now()
      const response = await fetch(`${server.url}/runs?${query}`)
      await response.text()
      if (!response.ok) throw new Error(`GET /runs?${query} answered ${response.status}`)
      if (i >= 0) times.push(performance.now() - begun)
    }
    return median(times)
  }
  const unfiltered = await timeOf('')
  report('ui', `50 of ${RUNS} runs, no filter`, { ms: round(unfiltered) })
  const hour = `from=${newest - 3_600_000}&to=${newest - 1_800_000}`
  for (const query of [...FILTERS, hour]) {
    const ms = await timeOf(query)
    report('ui', `50 of ${RUNS} runs, ${query.replace(hour, 'half an hour')}`, { ms: round(ms), times: round(ms / unfiltered) }, { times: 5 })
  }
}

async function openWatching(browser: Browser): Promise<Page> {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage()
  await page.addInitScript(`
    window.longTasks = []
    new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) window.longTasks.push(duration) }).observe({ type: 'longtask', buffered: true })
  `)
  return page
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
const round = (value: number): number => Math.round(value * 10) / 10
