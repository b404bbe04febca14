import type { TestEnv } from '../../sdk/testing/index.ts'

/** A step body that takes so long, in virtual time. */
export const timePasses = ({ clock }: Pick<TestEnv, 'clock'>, ms: number): Promise<void> =>
  new Promise((resolve) => clock.at(clock.now() + ms, resolve))
