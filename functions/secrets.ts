import type { SecretPlaces } from './secret-values.ts'

/**
 * A module that imports this, and then others with `import()`, has the secrets in `process.env` before those are
 * loaded.
 */
const places = process.env.OVERWINTER_SECRETS
if (places) {
  const { readSecrets } = await import('./secret-values.ts')
  Object.assign(process.env, await readSecrets(JSON.parse(places) as SecretPlaces))
}
