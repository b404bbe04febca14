import { defineConfig } from 'vitest/config'
import { TEST_MS } from './test/outside/patience.ts'

const conditions = ['overwinter-source', 'node', 'import', 'default']

export default defineConfig({
  // As the bundler has it where there is no codec.
  resolve: { conditions, alias: { 'overwinter-coding': new URL('functions/no-codec.ts', import.meta.url).pathname } },
  ssr: { resolve: { conditions } },
  test: {
    include: ['test/**/*.test.ts', 'workflows/**/*.test.ts'],
    exclude: ['test/aws/**', 'test/e2e/**', 'test/ui/**', '**/node_modules/**'],
    globalSetup: 'test/outside/one-folder.ts',
    setupFiles: 'test/outside/setup.ts',
    testTimeout: TEST_MS,
    hookTimeout: TEST_MS,
    execArgv: ['--conditions=overwinter-source'],
  },
})
