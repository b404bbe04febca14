import { defineConfig } from 'vitest/config'

const conditions = ['overwinter-source', 'node', 'import', 'default']

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['test/aws/**/*.test.ts', 'test/e2e/**/*.test.ts'],
    globalSetup: 'test/aws/global-setup.ts',
    // One stand-in serves them all, and it is a single process.
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 120_000,
    execArgv: ['--conditions=overwinter-source'],
  },
})
