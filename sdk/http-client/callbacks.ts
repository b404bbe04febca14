import { recordError } from '../base/error-records.ts'
import { encode } from '../base/values.ts'
import type { OpenCallback } from '../client/callbacks.ts'
import type { RepeatOptions } from '../client/options.ts'
import type { CallbackClient } from '../client/workflow-client.ts'
import type { CallbacksJson } from '../http-api/callbacks.ts'
import { HttpError } from './errors.ts'
import { pathOf, type Requests, runPath } from './requests.ts'
import { callbackFromJson } from './wire.ts'

/** What runs wait for outside, over HTTP. */
export class RemoteCallbacks implements CallbackClient {
  private readonly requests: Requests

  constructor(requests: Requests) {
    this.requests = requests
  }

  async listCallbacks(runId: string): Promise<OpenCallback[]> {
    const list = (path: string, query = {}) => this.requests.read<CallbacksJson>(path, query)
    const { callbacks } = await list('/callbacks', { run: runId }).catch((error: unknown) => {
      // A server of 0.1.0 has the list below the run. It does not know this route, so it cannot mean the run.
      if (error instanceof HttpError && error.status === 404) return list(runPath(runId, 'callbacks'))
      throw error
    })
    return callbacks.map(callbackFromJson)
  }

  async completeCallback(token: string, result?: unknown, options?: RepeatOptions): Promise<void> {
    const kept = encode(result, 'the result of a callback')
    await this.requests.post(pathOf('callbacks', token), { result: kept }, options)
  }

  /** Of the error, its name, message and code go over the wire. */
  async failCallback(token: string, error: unknown, options?: RepeatOptions): Promise<void> {
    const { name, message, code } = recordError(error)
    await this.requests.post(pathOf('callbacks', token), { error: { name, message, code } }, options)
  }

  async heartbeatCallback(token: string): Promise<void> {
    await this.requests.post(pathOf('callbacks', token, 'heartbeat'), undefined)
  }
}
