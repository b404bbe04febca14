import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { TEST_MS } from './test/outside/patience.ts'

const conditions = ['overwinter-source', 'node', 'import', 'default']

const functionFile = (name: string) => new URL(`functions/${name}.ts`, import.meta.url).pathname

export default defineConfig({
  // As the bundler has it where there is no codec, and nobody traces.
  resolve: {
    conditions,
    alias: { 'overwinter-coding': functionFile('no-codec'), 'overwinter-tracing': functionFile('no-tracing') },
  },
  ssr: { resolve: { conditions } },
  test: {
    include: ['test/**/*.test.ts', 'workflows/**/*.test.ts'],
    exclude: ['test/aws/**', 'test/e2e/**', 'test/ui/**', '**/*.long.test.ts', '**/node_modules/**'],
    globalSetup: 'test/outside/one-folder.ts',
    setupFiles: ['test/outside/setup.ts', 'test/outside/fresh-modules.ts'],
    // Half of them wait for processes of their own; left to itself vitest has one worker on two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // A process loads the packages that many files import once. What a file changes outside of itself, it puts back.
    isolate: false,
    testTimeout: TEST_MS,
    hookTimeout: TEST_MS,
    execArgv: ['--conditions=overwinter-source'],
  },
})
