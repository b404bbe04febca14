import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

/** The version of this package, wherever it is installed. */
export function ownVersion(): string {
  return (JSON.parse(readFileSync(findPackageJSON('..', import.meta.url)!, 'utf8')) as { version: string }).version
}
