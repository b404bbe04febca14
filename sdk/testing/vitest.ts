import { expect } from 'vitest'
import { toMatchHistory } from './golden.ts'

/** `import 'overwinter/testing/vitest'` makes `expect(await run.history()).toMatchHistory(file)` work, and known to the compiler. */
expect.extend({ toMatchHistory })

export { toMatchHistory }

declare module 'vitest' {
  // As vitest declares it, or the two would not be one. T is what is looked at.
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> {
    /** Compares a run's history with the one in the file, which is written when it does not exist, or when UPDATE_HISTORIES is set. */
    toMatchHistory(file: string): R
  }
}
