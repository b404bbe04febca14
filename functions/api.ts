import { handle } from 'hono/aws-lambda'
import { Client } from '../sdk/index.ts'
import { awsWorld, log } from './environment.ts'
import { createApp } from './http/app.ts'
import { handlers, registry } from './registry.ts'

/** Who may call is decided by API Gateway, before this function runs. */
const app = createApp({ client: new Client(awsWorld(), registry, handlers), withoutWorkers: true, log })
// What browsers ask before a call from another origin: API Gateway puts its headers to the answer, which has to be a good one.
app.options('*', (c) => c.body(null, 204))

export const handler = handle(app)
