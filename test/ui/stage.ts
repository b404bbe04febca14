import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import type { RunJson } from '../../sdk/http-api/runs.ts'
import { PATIENCE_MS } from '../outside/patience.ts'

/** Where scenarios are played. They know a page and an API, not what is behind them: the local server, or a deployment. */
export interface Stage {
  page: Page
  /** Where the page is served, without a slash at its end. */
  base: string
  /** The same runs, as a program starts and sees them. */
  api: Api
  /** What the payments depend on works again, or no longer. */
  setGateway(isDown: boolean): Promise<void>
  /** Of this play: runs of others may be there too. */
  name(what: string): string
}

/** By what they show. */
export type Scenarios = Record<string, (stage: Stage) => Promise<void>>

const LOOK_EVERY_MS = 30

/** Runs as others start and see them, beside the page. */
export class Api {
  private readonly base: string
  private readonly headers: Record<string, string>

  /** `headers`: what lets it in. */
  constructor(base: string, headers: Record<string, string> = {}) {
    this.base = base
    this.headers = headers
  }

  async start(workflow: string, id: string, input?: unknown): Promise<void> {
    const response = await fetch(`${this.base}/workflows/${workflow}/runs`, {
      method: 'POST',
      headers: { ...this.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ id, input }),
    })
    if (response.status !== 201) throw new Error(`${workflow} was not started: ${await response.text()}`)
  }

  async get(id: string): Promise<RunJson> {
    return (await (await fetch(`${this.base}/runs/${id}`, { headers: this.headers })).json()) as RunJson
  }

  async count(query: string): Promise<number> {
    return (
      (await (await fetch(`${this.base}/runs?${query}`, { headers: this.headers })).json()) as { runs: unknown[] }
    ).runs.length
  }

  /** Until it is in that state, or in one of them. */
  async until(id: string, ...statuses: RunJson['status'][]): Promise<RunJson> {
    const patientUntil = Date.now() + PATIENCE_MS / 4
    for (;;) {
      const run = await this.get(id)
      if (statuses.includes(run.status)) return run
      if (Date.now() > patientUntil)
        throw new Error(`run '${id}' is ${run.status}, not ${statuses.join(' or ')}: ${JSON.stringify(run)}`)
      await setTimeout(LOOK_EVERY_MS)
    }
  }
}

export const open = (stage: Stage, path: string) => stage.page.goto(`${stage.base}/ui${path}`)
/** The run's own page shows this state. */
export const shows = (page: Page, status: string) => page.locator('.run-title .status', { hasText: status }).waitFor()
/** The button of the dialog that is open. */
export const inDialog = (page: Page, name: string | RegExp) =>
  page.locator('dialog[open]').getByRole('button', { name })
