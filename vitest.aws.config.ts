import { defineConfig } from 'vitest/config'
import { LONG_TEST_MS, TEST_MS } from './test/outside/patience.ts'

const conditions = ['overwinter-source', 'node', 'import', 'default']

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['test/aws/**/*.test.ts', 'test/e2e/**/*.test.ts'],
    globalSetup: ['test/outside/one-folder.ts', 'test/aws/global-setup.ts'],
    // One stand-in serves them all, and it is a single process.
    fileParallelism: false,
    testTimeout: TEST_MS,
    // The first that needs the deployed stack deploys it.
    hookTimeout: LONG_TEST_MS,
    execArgv: ['--conditions=overwinter-source'],
  },
})
