import { type Duration, milliseconds } from '../base/duration.ts'
import { ownKey } from '../base/own-key.ts'
import { validateOrThrow } from '../base/schema.ts'
import { encode } from '../base/values.ts'
import type { AskOptions, RunView, StartOptions } from '../client/options.ts'
import { contentOf, tooLate } from '../client/reply-content.ts'
import type { RunJson } from '../http-api/runs.ts'
import type { ReplyJson } from '../http-api/steering.ts'
import { hasEnded } from '../ports/run.ts'
import { readTraceparent } from '../views/span-ids.ts'
import type { AnyWorkflow, RunRequest } from '../workflow.ts'
import { pathOf, type Requests, runPath } from './requests.ts'
import { runFromJson } from './wire.ts'

/** What takes as long as a run does: requests that are held, and asked again until there is an answer. */

/** One request is held this long at most; the server cuts at 25 s. */
const POLL_MS = 20_000

export const untilOf = (timeout: Duration | undefined, what: string): number =>
  timeout === undefined ? Number.POSITIVE_INFINITY : Date.now() + milliseconds(timeout, what)

export const isSettled = ({ status }: RunView): boolean => hasEnded(status) || status === 'stuck'

export async function settledBy(requests: Requests, runId: string, until: number): Promise<RunView> {
  for (;;) {
    const wait = Math.ceil(Math.min(POLL_MS, until - Date.now()))
    const run = runFromJson(await requests.read<RunJson>(runPath(runId), wait > 0 ? { wait: `${wait}ms` } : {}))
    if (isSettled(run) || Date.now() >= until) return run
  }
}

/** Starts a run. `query`: `wait`, where its end is waited for. */
export async function launch<T>(
  { transport }: Requests,
  workflow: AnyWorkflow | string,
  input: unknown,
  { idempotencyKey, traceparent, ...options }: StartOptions,
  query: Record<string, string> = {},
): Promise<{ body: T; created: boolean }> {
  const { name, version } = typeof workflow === 'string' ? { name: workflow, version: undefined } : workflow
  const kept = encode(input, `the input of workflow '${name}'`)
  const { status, body, attempts } = await transport.send<T>({
    method: 'POST',
    path: pathOf('workflows', name, 'runs'),
    query,
    body: { ...options, input: kept, version },
    idempotencyKey: idempotencyKey ?? ownKey(),
    ...(readTraceparent(traceparent) && { traceparent }),
  })
  // Under a key of this call alone, "started before" may mean by an earlier attempt of this call.
  const isOwnRepeat = idempotencyKey === undefined && options.id === undefined && attempts > 1
  return { body, created: status === 201 || isOwnRepeat }
}

export async function startAndSettle(
  requests: Requests,
  workflow: AnyWorkflow | string,
  input: unknown,
  { timeout, ...options }: StartOptions & { timeout?: Duration },
): Promise<{ run: RunView; created: boolean }> {
  const until = untilOf(timeout, 'the timeout of a start')
  // In one request: the server hands a run whose end is waited for straight to a runner.
  const wait = Math.min(POLL_MS, until - Date.now())
  const { body, created } = await launch<RunJson>(requests, workflow, input, options, { wait: `${wait}ms` })
  const run = runFromJson(body)
  if (isSettled(run) || Date.now() >= until) return { run, created }
  return { run: await settledBy(requests, run.runId, until), created }
}

export async function ask(
  requests: Requests,
  runId: string,
  request: RunRequest<unknown, unknown, never, unknown> | string,
  payload: unknown,
  { idempotencyKey = ownKey(), timeout }: AskOptions = {},
): Promise<unknown> {
  const { name, schema } = typeof request === 'string' ? { name: request, schema: undefined } : request
  await validateOrThrow(schema, payload, `the payload of request '${name}'`)
  const kept = encode(payload, `the payload of request '${name}'`)
  const until = untilOf(timeout, `the timeout of request '${name}'`)
  const question = { runId, request: name, idempotencyKey }
  for (;;) {
    const wait = Math.ceil(Math.max(1, Math.min(POLL_MS, until - Date.now())))
    // Under one key: what is asked again is what was asked.
    const { status, body } = await requests.post<ReplyJson>(
      runPath(runId, 'requests', name),
      kept,
      { idempotencyKey },
      { wait: `${wait}ms` },
    )
    if (status === 200) return contentOf(body, question)
    if (Date.now() >= until) throw tooLate(question)
  }
}
