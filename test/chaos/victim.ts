import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A process that is killed or frozen again and again, and is back at once after each death. */
export class Victim {
  /** What it has written to standard error in all its lives. */
  readonly complaints: string[] = []
  kills = 0
  freezes = 0
  private child!: ChildProcess
  private opened!: Promise<unknown>
  private isWanted = true
  private readonly script: string
  private readonly args: string[]

  constructor(script: string, args: string[]) {
    this.script = script
    this.args = args
    this.start()
  }

  /** Without a warning, wherever it is. */
  async kill(): Promise<void> {
    await this.opened
    this.kills++
    const gone = once(this.child, 'exit')
    this.child.kill('SIGKILL')
    await gone
  }

  /** For so long it stands still, with whatever it holds, and then goes on as if nothing had been. */
  async freeze(ms: number): Promise<void> {
    await this.opened
    this.freezes++
    const { child } = this
    child.kill('SIGSTOP')
    await new Promise((resolve) => setTimeout(resolve, ms))
    child.kill('SIGCONT')
  }

  /** In order, as an operator would. */
  async stop(): Promise<void> {
    this.isWanted = false
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const gone = once(this.child, 'exit')
    this.child.kill('SIGCONT')
    this.child.kill('SIGTERM')
    await gone
  }

  [Symbol.dispose](): void {
    this.isWanted = false
    this.child.kill('SIGKILL')
  }

  private start(): void {
    const child = spawn(process.execPath, ['--conditions=overwinter-source', this.script, ...this.args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child = child
    this.opened = Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
    createInterface({ input: child.stderr }).on('line', (line) => this.complaints.push(line))
    child.once('exit', (code) => {
      if (code !== null && code !== 0) this.complaints.push(`it ended by itself with code ${code}`)
      if (this.isWanted) this.start()
    })
  }
}
