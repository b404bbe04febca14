import { type ChildProcess, fork } from 'node:child_process'
import { extname, join } from 'node:path'
import { complain, paint, say } from '../terminal.ts'
import { banner, shortPath } from './banner.ts'
import { endWithNpm } from './end-with-npm.ts'
import { FileWatcher } from './file-watcher.ts'
import type { ServerMessage, ServerOptions } from './messages.ts'

const SERVER = join(import.meta.dirname, `server${extname(import.meta.filename)}`)
/** A server that does not end on request has a step that blocks the process. */
const STOP_MS = 3_000
const KILLED = 137

/** Keeps a server running with the newest code. */
export class Supervisor {
  private options: ServerOptions
  private readonly watcher = new FileWatcher((file) => void this.reload(file))
  private child: ChildProcess | undefined
  /** The server is about to end, for a known reason. */
  private isExpected = false
  private isReloading = false
  private hasGreeted = false
  private finish!: (exitCode: number) => void

  constructor(options: ServerOptions) {
    this.options = options
  }

  /** Until it is stopped; resolves with the exit code. */
  async run(): Promise<number> {
    const finished = new Promise<number>((resolve) => (this.finish = resolve))
    const stop = () => void this.stopServer().then(() => this.finish(0))
    process.on('SIGINT', stop)
    process.on('SIGTERM', stop)
    endWithNpm(() => this.finish(KILLED))
    this.watcher.add(this.options.entry)
    this.startServer()
    const exitCode = await finished
    this.watcher.close()
    return exitCode
  }

  private startServer(): void {
    this.isExpected = false
    const child = fork(SERVER, [JSON.stringify(this.options)])
    this.child = child
    child.on('message', (message: ServerMessage) => this.heard(message))
    child.on('exit', (code, signal) => {
      if (this.child === child) this.child = undefined
      if (!this.isExpected) this.ended(code, signal)
    })
  }

  private heard(message: ServerMessage): void {
    if (message.kind === 'loaded') return this.watcher.add(message.file)
    if (message.kind === 'ready') {
      // With port 0 the first server takes any free port; later ones use the same.
      this.options = { ...this.options, port: Number(new URL(message.url).port) }
      say(this.hasGreeted ? paint('green', `  runs the new code on ${message.url}`) : banner(message))
      this.hasGreeted = true
      return
    }
    this.isExpected = true
    complain(`${paint('red', 'overwinter dev:')} ${message.message}`)
    // On a restart, a file may be missing only until its editor has replaced it.
    if (message.isFinal && !this.hasGreeted) this.finish(1)
    else this.waitForChange()
  }

  private ended(code: number | null, signal: NodeJS.Signals | null): void {
    // The server was killed on purpose, so it is not restarted.
    if (signal !== null) {
      complain(`the server was killed (${signal})`)
      return this.finish(KILLED)
    }
    complain(paint('red', `the server ended with exit code ${code}`))
    this.waitForChange()
  }

  private waitForChange(): void {
    complain(paint('dim', `waiting for a change of ${shortPath(this.options.entry)} or what it imports`))
  }

  private async reload(file: string): Promise<void> {
    if (this.isReloading) return
    this.isReloading = true
    say(paint('dim', `  ${shortPath(file)} changed`))
    await this.stopServer()
    this.isReloading = false
    this.startServer()
  }

  private async stopServer(): Promise<void> {
    const { child } = this
    if (!child) return
    this.isExpected = true
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    await exited
    clearTimeout(timer)
  }
}
