import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { outerEnvironment } from '../outside/environment.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { endWithUs, isOver, signalGroup } from '../outside/process-groups.ts'

export const root = new URL('../..', import.meta.url).pathname
const MAIN = join(root, 'cli/main.ts')

/** A folder such as a user's, in which `overwinter` is what this repository holds. */
export class Project {
  readonly folder = mkdtempSync(join(tmpdir(), 'overwinter-cli-'))

  constructor(files: Record<string, string> = {}) {
    mkdirSync(join(this.folder, 'node_modules'))
    symlinkSync(root, join(this.folder, 'node_modules/overwinter'))
    for (const [name, text] of Object.entries({ 'package.json': '{ "type": "module" }', ...files }))
      this.write(name, text)
  }

  path(name: string): string {
    return join(this.folder, name)
  }

  write(name: string, text: string): void {
    mkdirSync(dirname(this.path(name)), { recursive: true })
    writeFileSync(this.path(name), text)
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export interface Output {
  code: number | null
  stdout: string
  stderr: string
}

export interface Surroundings {
  cwd?: string
  env?: Record<string, string | undefined>
  input?: string
}

/** One command of the CLI. It has a process of its own only if it needs one: for standard input, or to start processes itself. */
export async function overwinter(args: string[], surroundings: Surroundings = {}): Promise<Output> {
  if (surroundings.input !== undefined || args[0] === 'dev') return overwinterProcess(args, surroundings)
  const { inProcess } = await import('./in-process.ts')
  return inProcess(args, surroundings)
}

/** The real CLI, in a process of its own. */
export async function overwinterProcess(args: string[], surroundings: Surroundings = {}): Promise<Output> {
  await using running = new Running(process.execPath, ['--conditions=overwinter-source', MAIN, ...args], surroundings)
  running.child.stdin!.end(surroundings.input ?? '')
  const code = await running.exited
  return { code, stdout: running.stdout, stderr: running.stderr }
}

export const startDev = (args: string[], surroundings: Surroundings) =>
  new Running(process.execPath, ['--conditions=overwinter-source', MAIN, 'dev', ...args], surroundings)

/** A process in a group of its own, so that it can be killed with all it has started. */
export class Running {
  readonly child: ChildProcess
  readonly exited: Promise<number | null>
  stdout = ''
  stderr = ''

  constructor(command: string, args: string[], { cwd, env }: Surroundings) {
    this.child = spawn(command, args, {
      cwd,
      env: { ...outerEnvironment(), NO_COLOR: '1', ...env },
      detached: true,
      stdio: 'pipe',
    })
    endWithUs(this.child)
    this.child.stdout!.on('data', (chunk: Buffer) => (this.stdout += chunk))
    this.child.stderr!.on('data', (chunk: Buffer) => (this.stderr += chunk))
    this.exited = new Promise((resolve) => this.child.once('close', resolve))
  }

  /** Until it has said this. */
  async says(what: RegExp): Promise<RegExpExecArray> {
    let isOver = false
    void this.exited.then(() => (isOver = true))
    for (const until = Date.now() + PATIENCE_MS; Date.now() < until; await pause(20)) {
      const found = what.exec(this.stdout) ?? what.exec(this.stderr)
      if (found) return found
      if (isOver) break
    }
    throw new Error(`it did not say ${what} but:\n${this.stdout}\n${this.stderr}`)
  }

  /** It, and all it has started. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    signalGroup(this.child, signal)
    const code = await this.exited
    if (signal === 'SIGKILL') isOver(this.child)
    return code
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }
}

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
