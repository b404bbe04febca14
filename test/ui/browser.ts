import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { PATIENCE_MS } from '../outside/patience.ts'

const CHROMIUM = '/usr/bin/chromium'

export async function openBrowser(): Promise<Browser> {
  if (!existsSync(CHROMIUM))
    throw new Error(`these tests drive ${CHROMIUM}, and it is not there: apt-get update && apt-get install -y chromium`)
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
}

/** A page, and everything that it must not do. */
export interface WatchedPage {
  page: Page
  /** Violations of the content security policy, and whatever threw. */
  offences: string[]
  foreign: string[]
  /** Of the API, in order. */
  requests: string[]
}

export async function openPage(
  browser: Browser,
  base: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE_MS / 4)
  const watched: WatchedPage = { page, offences: [], foreign: [], requests: [] }
  await page.exposeFunction('reportOffence', (text: string) => void watched.offences.push(text))
  await page.addInitScript(
    "addEventListener('securitypolicyviolation', (event) => reportOffence(event.violatedDirective + ' ' + event.blockedURI))",
  )
  page.on('pageerror', (error) => void watched.offences.push(String(error.stack ?? error)))
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/i.test(message.text())) watched.offences.push(message.text())
  })
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.protocol !== 'data:' && url.origin !== new URL(base).origin) watched.foreign.push(request.url())
    else if (!url.pathname.startsWith('/ui/')) watched.requests.push(`${request.method()} ${url.pathname}${url.search}`)
  })
  return watched
}
