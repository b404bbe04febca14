#!/usr/bin/env node
import { tooOld } from '../sdk/base/node-version.ts'

// Everything else is loaded after this: an old Node cannot even parse it.
const refusal = tooOld(process.versions.node)
if (refusal === undefined) {
  const { run } = await import('./program.ts')
  process.exitCode = await run(process.argv)
} else {
  console.error(refusal)
  process.exitCode = 1
}
