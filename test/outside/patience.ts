/**
 * How long a test waits for something that comes by itself. A test that passes never waits this long; one that fails should do so
 * because something is wrong, not because the machine has much to do. Vitest's own limit is longer still, so that a test that
 * has lost its patience can clean up.
 */
export const PATIENCE_MS = 240_000
export const TEST_MS = 300_000
/** For what takes minutes even on a machine that does nothing else: installing, deploying, trying hundreds of seeds. */
export const LONG_TEST_MS = 1_800_000
