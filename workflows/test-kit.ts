import { type TestEnv, testEnv, toMatchHistory } from 'overwinter/testing'
import { expect } from 'vitest'
import { registryOf } from '../functions/registry-of.ts'
import * as entry from './index.ts'

expect.extend({ toMatchHistory })

declare module 'vitest' {
  interface Assertion {
    toMatchHistory(file: string): void
  }
}

export const golden = (name: string): string => new URL(`./golden/${name}.json`, import.meta.url).pathname

/** All the examples, under virtual time. */
export const allWorkflows = (): Promise<TestEnv> => testEnv({ workflows: registryOf(entry).all() })
