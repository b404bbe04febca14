import { Client, type RunView } from '../sdk/index.ts'
import { allowBrowsers } from './browsers.ts'
import { type Environment, log } from './environment.ts'
import { authorityOf, behindGateway } from './gateway.ts'
import { createApp } from './http/app.ts'
import { logsLink } from './logs-link.ts'
import { metrics } from './metrics.ts'
import { handlers, registry } from './registry.ts'
import { startingPaused } from './start-paused.ts'
import { codedWorld } from './world-with-codec.ts'

const { OVERWINTER_SCOPES, OVERWINTER_CORS, OVERWINTER_RUNNER_LOG } = process.env

const scopes = OVERWINTER_SCOPES as Environment['OVERWINTER_SCOPES']
const client = new Client(codedWorld(), registry, handlers)
const app = createApp({
  client,
  withoutWorkers: true,
  log,
  ...(OVERWINTER_RUNNER_LOG !== undefined && {
    logsOf: (run: RunView) => logsLink(process.env.AWS_REGION!, OVERWINTER_RUNNER_LOG, run),
  }),
  authorize: authorityOf(scopes),
  iamDecides: scopes === 'iam',
  ...(OVERWINTER_CORS !== undefined && { browsers: allowBrowsers(OVERWINTER_CORS) }),
})
// Answers a browser's preflight with a success: an HTTP API adds its CORS headers to the answer.
app.options('*', (c) => c.body(null, 204))

const begin = startingPaused(client.world)
const serve = behindGateway(app)

export const handler: typeof serve = async (event, context) => {
  try {
    await begin()
    return await serve(event, context)
  } finally {
    metrics.publish()
  }
}
