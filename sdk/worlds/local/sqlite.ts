import type { DatabaseSync as Connection } from 'node:sqlite'
import { tooOld } from '../../base/node-version.ts'

// An import of node:sqlite would fail before any sentence of ours, in words that say nothing of versions.
const refusal = tooOld(process.versions.node)
if (refusal !== undefined) throw new Error(refusal)

export type DatabaseSync = Connection
export const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
