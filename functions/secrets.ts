import type { SecretPlaces } from './secret-values.ts'

/**
 * Whoever imports this first has the secrets in `process.env` before anything else is loaded: in a bundle, modules are
 * evaluated one after the other, and what comes later waits.
 */
const places = process.env.OVERWINTER_SECRETS
if (places) {
  const { readSecrets } = await import('./secret-values.ts')
  Object.assign(process.env, await readSecrets(JSON.parse(places) as SecretPlaces))
}
