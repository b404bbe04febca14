import { readFileSync } from 'node:fs'

const LOOK_EVERY_MS = 200

/** npm passes most signals on to its script, but not its own SIGKILL: this process would run on without a parent. */
export function endWithNpm(end: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return
  const npm = starter()
  setInterval(() => starter() === npm || end(), LOOK_EVERY_MS).unref()
}

/** The process that started this one, seen through the shell that npm puts in between. */
function starter(): number {
  const parent = process.ppid
  try {
    // "1234 (sh) S 1200 …": name, state, parent.
    const [, name, grandparent] = /\((.*)\) \S (\d+)/.exec(readFileSync(`/proc/${parent}/stat`, 'utf8')) ?? []
    return name === 'sh' ? Number(grandparent) : parent
  } catch {
    // Only Linux has /proc. Elsewhere the usual shells replace themselves with their command.
    return parent
  }
}
