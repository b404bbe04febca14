// First, so that the workflows find them when they are loaded. What is imported in the usual way may be
// evaluated before.
import './secrets.ts'

export const { handler } = await import('./take-up.ts')
