import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Whatever the tests and what they start leave lying about is in one folder, and goes with it. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-tests-'))
  // Some of them become somebody else for a moment.
  chmodSync(folder, 0o755)
  process.env.TMPDIR = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
