import { handle, streamHandle } from 'hono/aws-lambda'
import { Workers } from '../sdk/tasks/workers.ts'
import { log } from './environment.ts'
import { createWorkerApp } from './http/app.ts'
import { codedWorld } from './world-with-codec.ts'

/**
 * Behind a function URL, because a poll may take longer than API Gateway waits. Lambda does not report that a
 * caller disconnected, so a connection ends by itself and the worker makes another; polls are heartbeats as
 * well.
 */
const CONNECTION_MS = 300_000
/** Unstreamed answers arrive when they are complete, and a worker stops waiting before that. */
const UNSTREAMED_CONNECTION_MS = 20_000

const { awslambda } = globalThis as { awslambda?: { streamifyResponse?: unknown } }
const isStreaming = awslambda?.streamifyResponse !== undefined
const world = codedWorld()
const app = createWorkerApp(
  {
    workers: new Workers(world),
    clock: world.clock,
    longestConnectionMs: isStreaming ? CONNECTION_MS : UNSTREAMED_CONNECTION_MS,
  },
  log,
)

export const handler = isStreaming ? streamHandle(app) : handle(app)
