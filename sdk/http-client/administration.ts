import type { RepeatOptions } from '../client/options.ts'
import type { ScheduleView } from '../client/schedules.ts'
import type { ScheduleClient, WorkerClient } from '../client/workflow-client.ts'
import type { SchedulesJson } from '../http-api/schedules.ts'
import type { NewTokenJson, TokensJson, WorkersJson } from '../http-api/workers.ts'
import type { LiveWorker } from '../tasks/directory.ts'
import type { NewToken, TokenView } from '../tasks/tokens.ts'
import { pathOf, type Requests } from './requests.ts'
import { scheduleFromJson, tokenFromJson, workerFromJson } from './wire.ts'

/** Schedules, workers and tokens over HTTP. */
export class RemoteAdministration implements ScheduleClient, WorkerClient {
  private readonly requests: Requests

  constructor(requests: Requests) {
    this.requests = requests
  }

  async listSchedules(): Promise<ScheduleView[]> {
    const { schedules } = await this.requests.read<SchedulesJson>('/schedules')
    return schedules.map(scheduleFromJson)
  }

  async pauseSchedule(name: string, options?: RepeatOptions): Promise<void> {
    await this.requests.post(pathOf('schedules', name, 'pause'), undefined, options)
  }

  async resumeSchedule(name: string, options?: RepeatOptions): Promise<void> {
    await this.requests.post(pathOf('schedules', name, 'resume'), undefined, options)
  }

  async triggerSchedule(name: string, options?: RepeatOptions): Promise<void> {
    await this.requests.post(pathOf('schedules', name, 'trigger'), undefined, options)
  }

  async listWorkers(): Promise<LiveWorker[]> {
    const { workers } = await this.requests.read<WorkersJson>('/v1/workers')
    return workers.map(workerFromJson)
  }

  async createToken({ name, scopes, workflows, types, expiresIn }: NewToken): Promise<TokenView & { token: string }> {
    const body = { name, scopes, workflows, task_types: types, expires_in: expiresIn }
    // Without a key: sent again it would make another token.
    const { body: made } = await this.requests.transport.send<NewTokenJson>({
      method: 'POST',
      path: '/v1/tokens',
      body,
    })
    return { ...tokenFromJson(made), token: made.token }
  }

  async listTokens(): Promise<TokenView[]> {
    const { tokens } = await this.requests.read<TokensJson>('/v1/tokens')
    return tokens.map(tokenFromJson)
  }

  revokeToken(id: string): Promise<void> {
    return this.requests.delete(pathOf('v1', 'tokens', id))
  }
}
