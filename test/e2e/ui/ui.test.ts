import { PutItemCommand } from '@aws-sdk/client-dynamodb'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { serveUi } from '../../../cli/ui/server.ts'
import { OverwinterClient } from '../../../sdk/http-client/index.ts'
import { type Credentials, sigv4 } from '../../../sdk/http-client/sigv4.ts'
import { awsClients } from '../../aws/clients.ts'
import { standIn } from '../../aws/stand-in.ts'
import { openBrowser, openPage } from '../../ui/browser.ts'
import { scenarios } from '../../ui/scenarios.ts'
import { Api, open, type Stage, shows } from '../../ui/stage.ts'
import { deploy } from '../cdk.ts'
import { assumed, ownCredentials, region } from '../credentials.ts'
import { urlOnStandIn } from '../deployment.ts'
import { limitedFetch } from '../limited-fetch.ts'

interface Outputs {
  ApiId: string
  ApiUrl: string
  GatewayTable: string
  ReaderRole: string
}

/** What `overwinter ui` serves for these credentials, and a page that has come by its link. */
async function openUi(browser: Browser, url: string, credentials: Credentials) {
  const connection = { url, sign: sigv4({ region, credentials }), fetch: limitedFetch }
  const { server, link } = await serveUi(connection, new OverwinterClient(connection), { port: 0, isReadOnly: false })
  const base = new URL(link('/ui/')).origin
  const watched = await openPage(browser, base)
  await watched.page.goto(link('/ui/'))
  await watched.page.waitForURL(`${base}/ui/runs`)
  const [cookie] = await watched.page.context().cookies()
  return { server, base, watched, api: new Api(base, { cookie: `${cookie!.name}=${cookie!.value}` }) }
}

describe('the dashboard of a deployed stack, through overwinter ui', () => {
  let browser: Browser
  let outputs: Outputs
  let url: string
  let ui: Awaited<ReturnType<typeof openUi>>
  let stage: Stage

  beforeAll(async () => {
    outputs = deploy<Outputs>({
      app: 'ui/app.ts',
      stack: 'OverwinterUi',
      context: { api: (await standIn()) === 'localstack' ? 'rest' : 'http' },
    })
    url = urlOnStandIn(outputs)
    browser = await openBrowser()
    ui = await openUi(browser, url, ownCredentials())
    stage = {
      page: ui.watched.page,
      base: ui.base,
      api: ui.api,
      name: (what) => `deployed-${what}`,
      async setGateway(isDown) {
        await awsClients().dynamodb.send(
          new PutItemCommand({
            TableName: outputs.GatewayTable,
            Item: { id: { S: 'gateway' }, isDown: { BOOL: isDown } },
          }),
        )
      },
    }
  })
  afterAll(async () => {
    await browser?.close()
    ui?.server.closeAllConnections()
    ui?.server.close()
  })
  beforeEach(() => stage.page.goto('about:blank'))

  for (const [name, play] of Object.entries(scenarios)) it(name, () => play(stage))

  it('kept to its content security policy through all of it, threw nothing, and asked nobody else', () => {
    expect(ui.watched.offences).toEqual([])
    expect(ui.watched.foreign).toEqual([])
  })

  it('shows everything to somebody who was granted to read, and lets them change nothing', async () => {
    await ui.api.start('nap', stage.name('read-only'), {})
    await ui.api.until(stage.name('read-only'), 'sleeping')
    const reader = await openUi(browser, url, await assumed(outputs.ReaderRole))
    const looking: Stage = { ...stage, page: reader.watched.page, base: reader.base, api: reader.api }
    try {
      const { page } = looking
      for (const path of ['/runs', '/incidents', '/workflows', '/workflows/order', '/schedules', '/workers']) {
        await open(looking, path)
        await page.locator('main h1').waitFor()
        expect([path, await page.locator('main .refusal').count()]).toEqual([path, 0])
      }
      await open(looking, `/runs/${stage.name('read-only')}`)
      await shows(page, 'sleeping')
      await page.locator('.reason-line', { hasText: 'waits for' }).waitFor()
      for (const action of ['cancel', 'terminate', 'wake', 'retry']) {
        const { status } = await page.evaluate(
          (path) => fetch(path, { method: 'POST' }).then(({ status }) => ({ status })),
          `/runs/${stage.name('read-only')}/${action}`,
        )
        expect([action, status]).toEqual([action, 403])
      }
      expect((await ui.api.get(stage.name('read-only'))).status).toBe('sleeping')
    } finally {
      reader.server.closeAllConnections()
      reader.server.close()
    }
  })
})
