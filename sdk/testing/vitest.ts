import { expect } from 'vitest'
import { toMatchHistory } from './golden.ts'

/**
 * `import 'overwinter/testing/vitest'` adds the matcher `expect(await run.history()).toMatchHistory(file)`
 * and its types.
 */
expect.extend({ toMatchHistory })

export { toMatchHistory }

declare module 'vitest' {
  // Declared exactly as in vitest, so that the interfaces merge. T is the type of the value under test.
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> {
    /**
     * Compares a run's history with the file. The file is written when it does not exist, or when
     * UPDATE_HISTORIES is set.
     */
    toMatchHistory(file: string): R
  }
}
