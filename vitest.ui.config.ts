import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

/** The dashboard in a real browser, on a real local server. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['test/ui/**/*.test.ts'],
    exclude: ['**/node_modules/**'],
    // Each file has a browser of its own, and those are heavy.
    fileParallelism: false,
    isolate: true,
  },
})
