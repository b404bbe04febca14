import { globSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { LONG_TEST_MS } from './test/outside/patience.ts'
import base from './vitest.config.ts'

/** They do more here than in `npm test`. */
const asksHowMuch = (file: string) => readFileSync(file, 'utf8').includes('/outside/amount.ts')

/** What takes minutes: many seeds, bundles, packages, processes that are killed. `npm test` has a little of each. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['{test,workflows}/**/*.long.test.ts', ...globSync('test/**/*.test.ts').filter(asksHowMuch)],
    exclude: ['**/node_modules/**'],
    env: { LONG_TESTS: '1' },
    // Processes that are started, frozen and killed: each file has its own.
    isolate: true,
    testTimeout: LONG_TEST_MS,
    hookTimeout: LONG_TEST_MS,
  },
})
