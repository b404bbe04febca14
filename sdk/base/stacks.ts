/** The folder of the engine. A bundle does not show it: then frames cannot be told apart, and all of them stay. */
const [, OURS] = /^file:\/\/(.*\/sdk\/)base\/stacks/.exec(import.meta.url) ?? []

/**
 * Readers of a stack look for their own lines: this removes our frames, and those of Node between ours and theirs.
 */
export function usersFrames(stack: string): string {
  if (!OURS || !stack.includes(OURS)) return stack
  const isTheirs = (line: string) =>
    !/^ +at /.test(line) || !(line.includes(OURS) || /node:|at <anonymous>$/.test(line))
  return stack.split('\n').filter(isTheirs).join('\n')
}

/** `file:line:column` of the topmost frame that is the user's own. */
export function topFrame(stack: string | undefined): string | undefined {
  const [, place] = /\(?(?:file:\/\/)?((?:\/|[A-Z]:\\)[^()]*?:\d+:\d+)\)?$/m.exec(usersFrames(stack ?? '')) ?? []
  return place
}
