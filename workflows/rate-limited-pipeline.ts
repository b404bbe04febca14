import { dag } from 'overwinter/definitions'

/** Two calls of an API that wants half a minute between them. In between, the run uses no compute. */
export const rateLimitedPipeline = dag('rate-limited-pipeline')
  .task('call-api', callApi, { timeout: '10s' })
  .sleep('cooldown', '30s', { after: 'call-api' })
  .task('next-call', callApi, { after: 'cooldown' })
  .build()

/** A stand-in for the API. */
function callApi({ idempotencyKey }: { idempotencyKey: string }): string {
  return `called for ${idempotencyKey.split('/').at(-1)}`
}
