import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readReference } from './declarations.ts'
import { referencePage } from './page.ts'

/** Writes docs/reference.md anew. */
writeFileSync(join(import.meta.dirname, '../reference.md'), referencePage(readReference()))
