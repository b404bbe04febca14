import { handle } from 'hono/aws-lambda'
import { Client } from '../sdk/index.ts'
import { awsWorld, log } from './environment.ts'
import { createApp } from './http/app.ts'
import { handlers, registry } from './registry.ts'
import { permissionFrom } from './token-authority.ts'

const kind = process.env.OVERWINTER_SCOPES as 'token' | 'jwt' | undefined

/** Who may call is decided by API Gateway, before this function runs; how far a token with scopes reaches, here. */
const app = createApp({
  client: new Client(awsWorld(), registry, handlers),
  withoutWorkers: true,
  log,
  ...(kind && { authorize: (_request, env) => permissionFrom(env, kind) }),
})
// What browsers ask before a call from another origin: API Gateway puts its headers to the answer, which has to be a good one.
app.options('*', (c) => c.body(null, 204))

export const handler = handle(app)
