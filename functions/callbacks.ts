import { Client } from '../sdk/index.ts'
import { allowBrowsers } from './browsers.ts'
import { log } from './environment.ts'
import { behindGateway } from './gateway.ts'
import { createCallbackApp } from './http/app.ts'
import { metrics } from './metrics.ts'
import { handlers, registry } from './registry.ts'
import { codedWorld } from './world-with-codec.ts'

const { OVERWINTER_CORS } = process.env
const client = new Client(codedWorld(), registry, handlers)
const app = createCallbackApp({
  client,
  log,
  ...(OVERWINTER_CORS !== undefined && { browsers: allowBrowsers(OVERWINTER_CORS) }),
})
const serve = behindGateway(app)

/** For the routes without an authorizer. Loads the entry for the schemas of callbacks, and runs no step. */
export const handler: typeof serve = async (event, context) => {
  try {
    return await serve(event, context)
  } finally {
    metrics.publish()
  }
}
