import { serveLocal } from '../../functions/local/serve.ts'
import { Local } from '../../sdk/local.ts'
import { openBrowser, openPage } from './browser.ts'
import { Api, type Stage } from './stage.ts'
import { gateway, schedules, workflows } from './workflows.ts'

/** A local server, a browser, and a page on it. */
export async function openLocalStage() {
  const browser = await openBrowser()
  const local = await Local.open({ path: ':memory:', workflows, schedules, log: () => {} })
  let server = await serveLocal({ local, port: 0 })
  const { port } = server
  const base = `http://localhost:${port}`
  const watched = await openPage(browser, base)
  const stage: Stage = {
    page: watched.page,
    base,
    api: new Api(base),
    name: (what) => what,
    async setGateway(isDown) {
      gateway.isDown = isDown
    },
  }
  return {
    stage,
    browser,
    watched,
    local,
    /** Nobody listens any more; the runs go on. */
    hangUp: () => server.close(0),
    async listenAgain() {
      server = await serveLocal({ local, port })
    },
    async close() {
      await browser.close()
      await server.close(0)
      await local.close()
    },
  }
}
