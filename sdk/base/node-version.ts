/**
 * As `engines` in package.json says; a test compares the two. Written so that any Node of the last years can read
 * it.
 */
export const OLDEST_NODE = '22.18'

/** The message for users whose Node cannot run this; undefined where it can. */
export function tooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE.split('.').map(Number)
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined
  return (
    `Overwinter needs Node ${OLDEST_NODE} or newer, and this is ${version}: install a newer one ` +
    'from https://nodejs.org, or with your version manager (nvm install 24).'
  )
}
