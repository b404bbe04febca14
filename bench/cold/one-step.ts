import { workflow } from '../../sdk/index.ts'

/** The least that an entry file can have. */
export const one = workflow('one', (ctx) => ctx.step('one', () => 1))
