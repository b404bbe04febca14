import { expect, it } from 'vitest'
import { createApp } from '../../functions/http/app.ts'
import { logsLink } from '../../functions/logs-link.ts'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const createdAt = Date.UTC(2026, 0, 1)
/** As the console reads it. */
const read = (link: string) =>
  link
    .split('$3FqueryDetail$3D')[1]!
    .replaceAll(/\*([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

it("leads to the run's own lines in the runner's log, in the time that the run had", () => {
  const link = logsLink('eu-north-1', 'Shop-RunnerLog-1', { runId: 'o@1', createdAt, endedAt: createdAt + 60_000 })
  expect(link).toMatch(
    /^https:\/\/eu-north-1\.console\.aws\.amazon\.com\/cloudwatch\/home\?region=eu-north-1#logsV2:logs-insights\$3FqueryDetail/,
  )
  expect(link).not.toMatch(/[ |]/)
  expect(read(link)).toBe(
    "~(end~'2026-01-01T00:02:00.000Z~start~'2026-01-01T00:00:00.000Z~timeType~'ABSOLUTE~tz~'UTC~editorString~'fields @timestamp, level, message, step, attempt | filter runId = 'o@1' | sort @timestamp~source~(~'Shop-RunnerLog-1))",
  )
})

it('is shown with a run where the API knows where that is, and otherwise not', async () => {
  const nothing = workflow('nothing', async () => {})
  const env = await testEnv({ workflows: [nothing] })
  await (await env.start(nothing, undefined, { id: 'r-1' })).result()
  const shown = async (options: Partial<Parameters<typeof createApp>[0]>) =>
    (await createApp({ client: env.client, ...options }).request('/runs/r-1')).json()
  expect(await shown({ logsOf: ({ runId }) => `https://logs.example/${runId}` })).toMatchObject({
    logs: 'https://logs.example/r-1',
  })
  expect(await shown({})).not.toHaveProperty('logs')
})
