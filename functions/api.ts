import { Client } from '../sdk/index.ts'
import { codedWorld } from './coded-world.ts'
import { log } from './environment.ts'
import { authorityOf, behindGateway } from './gateway.ts'
import { createApp } from './http/app.ts'
import { handlers, registry } from './registry.ts'

const app = createApp({
  client: new Client(codedWorld(), registry, handlers),
  withoutWorkers: true,
  log,
  authorize: authorityOf(process.env.OVERWINTER_SCOPES as 'token' | 'jwt' | undefined),
})
// What browsers ask before a call from another origin: API Gateway puts its headers to the answer, which has to be a good one.
app.options('*', (c) => c.body(null, 204))

export const handler = behindGateway(app)
