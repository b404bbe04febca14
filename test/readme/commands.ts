/** What README tells a newcomer to type: the command in its first line, then those of its `sh` blocks. */
export function readmeCommands(readme: string): { opening: string; blocks: string[][] } {
  const opening = /^`([^`]+)`/.exec(readme)?.[1]
  if (opening === undefined) throw new Error('README does not open with a command')
  const blocks = [...readme.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) =>
    text!.split('\n').map(withoutComment).filter(Boolean),
  )
  return { opening, blocks }
}

/** The block that has a command with this in it. */
export function blockWith(blocks: string[][], text: string): string[] {
  const block = blocks.find((commands) => commands.some((command) => command.includes(text)))
  if (!block) throw new Error(`README has no block of commands with '${text}'`)
  return block
}

function withoutComment(line: string): string {
  return line.replace(/(^|\s+)#\s.*$/, '').trim()
}
