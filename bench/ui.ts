import type { Browser, Page } from 'playwright-core'
import { serveLocal } from '../functions/local/serve.ts'
import { workflow } from '../sdk/index.ts'
import { Local } from '../sdk/local.ts'
import { openBrowser } from '../test/ui/browser.ts'
import { report } from './report.ts'
import { fillStore } from './ui-store.ts'

const OPENINGS = 5
const COMMITS = 60
const WARM_UP = 10
const TURNS = 25
const RUNS = 100_000
const DAY_MS = 86_400_000
const FILTERS = [
  'workflow=w1',
  'workflow=rare',
  'status=failed',
  'status=stuck',
  'status=terminated',
  'status=cancelled',
  'status=running',
  'status=sleeping',
  'status=waiting',
  'status=pending',
  'tag=customer:7',
  'idPrefix=run-777',
  'workflow=w1&status=failed',
]

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
      report(
        'ui',
        `${count} steps, ${tab}`,
        { openMs, nodes, longestTaskMs: Math.round(longest) },
        { nodes: 1_500, longestTaskMs: 100 },
      )
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
  report(
    'ui',
    'a commit is on the page',
    { medianMs: median(times), p95Ms: times[Math.floor(COMMITS * 0.95)]! },
    { p95Ms: 250 },
  )
}

async function filters(): Promise<void> {
  await using local = await Local.open({
    path: ':memory:',
    workflows: [quick],
    log: () => {},
    concurrency: 0,
  } as Parameters<typeof Local.open>[0])
  const newest = await fillStore(local.world, RUNS)
  await using server = await serveLocal({ local, port: 0 })
  const ask = async (query: string) => {
    const begun = performance.now()
    const response = await fetch(`${server.url}/runs?${query}`)
    if (!response.ok) throw new Error(`GET /runs?${query} answered ${response.status}`)
    const { runs } = (await response.json()) as { runs: unknown[] }
    return { ms: performance.now() - begun, runs: runs.length }
  }
  const halfHourBefore = (end: number) => `from=${end - 1_800_000}&to=${end}`
  const times: Record<string, string> = {
    [halfHourBefore(newest)]: 'the last half hour',
    [halfHourBefore(newest - DAY_MS)]: 'half an hour a day ago',
    [`to=${newest - DAY_MS}`]: 'all until a day ago',
  }
  const queries = ['', ...FILTERS, ...Object.keys(times)]
  const answers = new Map(queries.map((query) => [query, [] as Awaited<ReturnType<typeof ask>>[]]))
  // In turns, so that what is compiled and cached by the way favours none of them; the first turns do not count.
  for (let turn = -WARM_UP; turn < TURNS; turn++)
    for (const query of queries) {
      const answer = await ask(query)
      if (turn >= 0) answers.get(query)!.push(answer)
    }
  const timeOf = (query: string) => median(answers.get(query)!.map(({ ms }) => ms))
  for (const query of queries) {
    const { runs } = answers.get(query)![0]!
    const figures = { ms: round(timeOf(query)), runs, times: round(timeOf(query) / timeOf('')) }
    report(
      'ui',
      `a page of ${RUNS} runs, ${times[query] ?? (query || 'no filter')}`,
      figures,
      query === '' ? {} : { times: 5 },
    )
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
