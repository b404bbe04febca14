// First, so that secrets are set when the workflows are loaded.
import './secrets.ts'

export const { handler } = await import('./take-up.ts')
