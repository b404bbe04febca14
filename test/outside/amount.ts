/** Whether this is `npm run test:long`, which runs every file that asks here once more, and not `npm test`. */
export const IS_LONG = process.env.LONG_TESTS !== undefined

/** How much of something that could go on for ever: many seeds, rounds or made-up values. */
export const amount = ({ few, many }: { few: number; many: number }): number => (IS_LONG ? many : few)
