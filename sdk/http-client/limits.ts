import { ownKey } from '../base/own-key.ts'
import type { LimitOptions } from '../flow/limiter/limit.ts'
import type { Limits, LimitView } from '../flow/operating/limits.ts'
import type { LimitJson, LimitsJson } from '../http-api/limits.ts'
import type { Transport } from './transport.ts'
import { limitFromJson } from './wire.ts'

/** Limits over HTTP. Where one stands in a line, the run itself tells (`get`). */
export class RemoteLimits implements Pick<Limits, Exclude<keyof Limits, 'placeOf' | 'pauseBehind'>> {
  private readonly transport: Transport

  constructor(transport: Transport) {
    this.transport = transport
  }

  async list(): Promise<LimitView[]> {
    const { body } = await this.transport.send<LimitsJson>({ method: 'GET', path: '/limits' })
    return body.limits.map(limitFromJson)
  }

  async get(name: string): Promise<LimitView> {
    return limitFromJson((await this.transport.send<LimitJson>({ method: 'GET', path: limitPath(name) })).body)
  }

  /** Other numbers than the code's, until `reset`. What is not given stays as it is. */
  async set(name: string, options: LimitOptions): Promise<LimitView> {
    return limitFromJson(
      (await this.transport.send<LimitJson>({ method: 'PUT', path: limitPath(name), body: options })).body,
    )
  }

  /** The code's numbers count again. */
  reset(name: string): Promise<LimitView> {
    return this.steer(name, 'reset')
  }

  /** Lets nobody in. Whoever is inside stays there. */
  pause(name: string): Promise<LimitView> {
    return this.steer(name, 'pause')
  }

  resume(name: string): Promise<LimitView> {
    return this.steer(name, 'resume')
  }

  private async steer(name: string, action: 'pause' | 'resume' | 'reset'): Promise<LimitView> {
    const call = { method: 'POST', path: `${limitPath(name)}/${action}`, idempotencyKey: ownKey() } as const
    return limitFromJson((await this.transport.send<LimitJson>(call)).body)
  }
}

const limitPath = (name: string): string => `/limits/${encodeURIComponent(name)}`
