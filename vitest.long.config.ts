import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'
import { LONG_TEST_MS } from './test/outside/patience.ts'

/** What takes minutes: many seeds, bundles, packages, processes that are killed. `npm test` has a little of each. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['test/**/*.long.test.ts'],
    exclude: ['**/node_modules/**'],
    testTimeout: LONG_TEST_MS,
    hookTimeout: LONG_TEST_MS,
  },
})
