import { Console } from 'node:console'
import { Writable } from 'node:stream'
import { run } from '../../cli/program.ts'
import { outerEnvironment } from '../outside/environment.ts'
import type { Output, Surroundings } from './fixture.ts'

let last: Promise<unknown> = Promise.resolve()

/**
 * The CLI in this process, which for that long has the environment, the folder and the output of a user's terminal. Starting
 * a process for each command took more time than all else that the tests do. One command runs at a time.
 */
export function inProcess(args: string[], surroundings: Surroundings): Promise<Output> {
  const mine = last.then(() => inTerminal(args, surroundings))
  last = mine.catch(() => {})
  return mine
}

async function inTerminal(args: string[], { cwd = process.cwd(), env }: Surroundings): Promise<Output> {
  const said = { stdout: '', stderr: '' }
  const catching = (name: keyof typeof said) => (chunk: string | Uint8Array) => {
    said[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    return true
  }
  const [toStdout, toStderr] = [catching('stdout'), catching('stderr')]
  using before = new DisposableStack()
  before.defer(swap(process, 'env', defined({ ...outerEnvironment(), NO_COLOR: '1', ...env })))
  before.defer(swap(process, 'exitCode', undefined))
  before.defer(swap(process.stdout, 'write', toStdout as typeof process.stdout.write))
  before.defer(swap(process.stderr, 'write', toStderr as typeof process.stderr.write))
  before.defer(swap(globalThis, 'console', new Console(sink(toStdout), sink(toStderr))))
  const folder = process.cwd()
  before.defer(() => process.chdir(folder))
  process.chdir(cwd)
  const code = await run([process.execPath, 'overwinter', ...args])
  return { code, ...said }
}

/** Puts it there; what it gives takes it back. */
function swap<T, K extends keyof T>(of: T, name: K, value: T[K]): () => void {
  const before = of[name]
  of[name] = value
  return () => {
    of[name] = before
  }
}

const defined = (env: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined))

const sink = (take: (chunk: string) => void) =>
  new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      take(chunk)
      done()
    },
  })
