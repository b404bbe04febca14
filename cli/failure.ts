import { HttpError, type OverwinterClient, RunNotFoundError } from '../sdk/http-client/index.ts'
import { isLocal } from './connection.ts'

/** An error in one line: what went wrong, and what to do. */
export class Failure extends Error {
  override name = 'Failure'
}

const MOST_SUGGESTIONS = 5

/** The text for a person, given an error of a call to the API. */
export function explain(error: unknown, url: string): string {
  if (!(error instanceof Error)) return String(error)
  const isRefusal = error instanceof HttpError && (error.status === 401 || error.status === 403)
  if (isRefusal)
    return (
      `${url} refuses requests without credentials (${error.message}); give --token, or --profile for an ` +
      'API with IAM'
    )
  if (error.name === 'TimeoutError' && error instanceof DOMException) return `${url} did not answer in time`
  if (error.message === 'fetch failed') return unreachable(url, error.cause)
  return error.message
}

function unreachable(url: string, cause: unknown): string {
  const { code, message } = (cause ?? {}) as { code?: string; message?: string }
  if (isLocal(url)) return `nothing answers on ${url}; start it with \`overwinter dev\``
  return `nothing answers on ${url} (${code ?? message ?? 'no connection'}); is the address right?`
}

/** Acts on a run; if there is no such run, suggests runs with a similar id. */
export async function withRun<T>(client: OverwinterClient, runId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof RunNotFoundError)) throw error
    throw new Failure(`no run ${runId}${await similar(client, runId)}`)
  }
}

async function similar(client: OverwinterClient, runId: string): Promise<string> {
  const { runs } = await client.list({ limit: 1_000 })
  if (runs.length === 0) return '; there are no runs yet'
  for (let length = runId.length - 1; length > 0; length--) {
    const prefix = runId.slice(0, length)
    const alike = runs.map(({ runId }) => runId).filter((id) => id.startsWith(prefix))
    if (alike.length > 0)
      return `; ${alike.length === 1 ? '1 run starts' : `${alike.length} runs start`} with ${prefix}: ${named(alike)}`
  }
  return `; the newest are ${named(runs.map(({ runId }) => runId))}`
}

function named(ids: string[]): string {
  const rest = ids.length > MOST_SUGGESTIONS ? ', …' : ''
  return ids.slice(0, MOST_SUGGESTIONS).join(', ') + rest
}
