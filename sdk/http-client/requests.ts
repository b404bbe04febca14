import { ownKey } from '../base/own-key.ts'
import type { RepeatOptions } from '../client/options.ts'
import { meantRunId } from '../views/as-written.ts'
import type { Transport } from './transport.ts'

type Query = Record<string, string | undefined>

/** What the parts of the client send by. */
export class Requests {
  readonly transport: Transport

  constructor(transport: Transport) {
    this.transport = transport
  }

  async read<T>(path: string, query?: Query): Promise<T> {
    return (await this.transport.send<T>({ method: 'GET', path, query })).body
  }

  post<T>(
    path: string,
    body: unknown,
    { idempotencyKey = ownKey() }: RepeatOptions = {},
    query: Query = {},
  ): Promise<{ status: number; body: T; attempts: number }> {
    return this.transport.send<T>({ method: 'POST', path, query, body, idempotencyKey })
  }

  put<T>(path: string, body: unknown, query: Query = {}): Promise<{ status: number; body: T }> {
    return this.transport.send<T>({ method: 'PUT', path, query, body })
  }

  async delete(path: string): Promise<void> {
    await this.transport.send({ method: 'DELETE', path })
  }
}

/** A path of names, whatever is in them. */
export const pathOf = (...parts: string[]): string => parts.map((part) => `/${encodeURIComponent(part)}`).join('')

export const runPath = (runId: string, ...rest: string[]): string => pathOf('runs', meantRunId(runId), ...rest)

export function timeText(time: Date | string | number | undefined): string | undefined {
  return time instanceof Date ? time.toISOString() : time?.toString()
}
