import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'

/**
 * Ends the process groups that a test has started once the test is gone, however it went: it failed, ran out of time, or was killed
 * together with vitest. Nobody can do that who goes with it, so a shell in a session of its own waits for the end of its input.
 */
const WATCH = `
groups=
while read -r what group; do
  if [ "$what" = begun ]; then groups="$groups $group"; continue; fi
  rest=
  for each in $groups; do [ "$each" = "$group" ] || rest="$rest $each"; done
  groups=$rest
done
for each in $groups; do kill -s KILL -- "-$each"; done
`

let watcher: ChildProcess | undefined

/** The process must be the head of a group of its own (`detached`). */
export function endWithUs({ pid }: ChildProcess): void {
  if (pid !== undefined) tell(`begun ${pid}`)
}

/** For all of the group. Whoever has seen the end of it says so with `isOver`, because its number may then become somebody else's. */
export function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // Nobody of it is left.
  }
}

export function isOver({ pid }: ChildProcess): void {
  if (pid !== undefined) tell(`over ${pid}`)
}

function tell(line: string): void {
  watcher ??= startWatcher()
  watcher.stdin!.write(`${line}\n`)
}

function startWatcher(): ChildProcess {
  const started = spawn('sh', ['-c', WATCH], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  started.unref()
  const input = started.stdin as Socket
  input.unref()
  return started
}
