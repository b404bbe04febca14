import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

/**
 * The tests that judge mutants. They run some thousand times, so they are the fast ones, share one process and its
 * modules, and a test that a mutant leaves hanging is given up soon. `docs/mutation.md` says how to run them.
 */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: [
      'test/engine/**/*.test.ts',
      'test/flow/*.test.ts',
      'test/rules/**/*.test.ts',
      'test/contract/memory/*.test.ts',
      'test/testing/*.test.ts',
      'workflows/golden.test.ts',
    ],
    // Schedules, and the tests of limits that play many starts: one mutant would take seconds.
    exclude: [
      'test/engine/schedule*.test.ts',
      'test/flow/{at-random,coalescing-cost,deaths-on-aws,fairness,growth,odd-limits}.test.ts',
    ],
    setupFiles: 'test/outside/setup.ts',
    testTimeout: 3_000,
    isolate: false,
  },
})
