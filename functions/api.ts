import { handle } from 'hono/aws-lambda'
import { Client } from '../sdk/index.ts'
import { awsWorld, log } from './environment.ts'
import { createApp } from './http/app.ts'
import { handlers, registry } from './registry.ts'

/** Who may call is decided by API Gateway, before this function runs. */
export const handler = handle(createApp({ client: new Client(awsWorld(), registry, handlers), withoutWorkers: true, log }))
