/** Where the engine lies. In a bundle that is not to be seen: then nobody can tell the frames apart, and all of them stay. */
const [, OURS] = /^file:\/\/(.*\/sdk\/)base\/stacks/.exec(import.meta.url) ?? []

/** Who reads a stack looks for their own lines: it is given without ours, and without Node's, which lie between ours and theirs. */
export function usersFrames(stack: string): string {
  if (!OURS || !stack.includes(OURS)) return stack
  const isTheirs = (line: string) =>
    !/^ +at /.test(line) || !(line.includes(OURS) || /node:|at <anonymous>$/.test(line))
  return stack.split('\n').filter(isTheirs).join('\n')
}

/** `file:line:column` of the topmost line that is the user's own. */
export function topFrame(stack: string | undefined): string | undefined {
  const [, place] = /\(?(?:file:\/\/)?((?:\/|[A-Z]:\\)[^()]*?:\d+:\d+)\)?$/m.exec(usersFrames(stack ?? '')) ?? []
  return place
}
