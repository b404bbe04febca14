import type { LimitClient } from '../client/workflow-client.ts'
import type { LimitOptions } from '../flow/limiter/limit.ts'
import type { LimitView } from '../flow/operating/limits.ts'
import type { LimitJson, LimitsJson } from '../http-api/limits.ts'
import { pathOf, type Requests } from './requests.ts'
import { limitFromJson } from './wire.ts'

/** Limits over HTTP. Where a run stands in a queue, the run itself tells (`get`). */
export class RemoteLimits implements LimitClient {
  private readonly requests: Requests

  constructor(requests: Requests) {
    this.requests = requests
  }

  async list(): Promise<LimitView[]> {
    return (await this.requests.read<LimitsJson>('/limits')).limits.map(limitFromJson)
  }

  async get(name: string): Promise<LimitView> {
    return limitFromJson(await this.requests.read<LimitJson>(pathOf('limits', name)))
  }

  async set(name: string, options: LimitOptions): Promise<LimitView> {
    return limitFromJson((await this.requests.put<LimitJson>(pathOf('limits', name), options)).body)
  }

  reset(name: string): Promise<LimitView> {
    return this.steer(name, 'reset')
  }

  pause(name: string): Promise<LimitView> {
    return this.steer(name, 'pause')
  }

  resume(name: string): Promise<LimitView> {
    return this.steer(name, 'resume')
  }

  private async steer(name: string, action: 'pause' | 'resume' | 'reset'): Promise<LimitView> {
    return limitFromJson((await this.requests.post<LimitJson>(pathOf('limits', name, action), undefined)).body)
  }
}
