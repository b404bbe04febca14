import { defineConfig } from 'vitest/config'

const conditions = ['overwinter-source', 'node', 'import', 'default']

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['test/**/*.test.ts', 'workflows/**/*.test.ts'],
    exclude: ['test/aws/**', 'test/e2e/**', '**/node_modules/**'],
    testTimeout: 60_000,
    execArgv: ['--conditions=overwinter-source'],
  },
})
