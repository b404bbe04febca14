import type { SecretPlaces } from './secret-values.ts'

/**
 * Import this first: it sets the secrets in `process.env` before any other module is loaded. A bundle
 * evaluates its modules in order, and later ones wait.
 */
const places = process.env.OVERWINTER_SECRETS
if (places) {
  const { readSecrets } = await import('./secret-values.ts')
  Object.assign(process.env, await readSecrets(JSON.parse(places) as SecretPlaces))
}
