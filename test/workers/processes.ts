import { join } from 'node:path'
import { Running, root } from '../cli/fixture.ts'

export const PROGRAMS = join(root, 'test/workers/programs')

/** How each of the reference workers is started. */
export const LANGUAGES = {
  typescript: (program: string, env: Record<string, string>) =>
    new Running(process.execPath, ['--conditions=overwinter-source', join(PROGRAMS, `${program}.ts`)], { env }),
  python: (program: string, env: Record<string, string>) =>
    new Running('python3', [join(PROGRAMS, `${program}.py`)], { env }),
}

/** Starts a process, and another one whenever it has ended, as whatever keeps a worker alive would. */
export class KeptAlive {
  private current: Running
  private isOver = false
  starts = 1

  constructor(launch: () => Running) {
    this.current = launch()
    const watch = async (): Promise<void> => {
      await this.current.exited
      if (this.isOver) return
      this.current = launch()
      this.starts++
      return watch()
    }
    void watch()
  }

  /** Without a warning, as by the machine it runs on. */
  kill(): void {
    void this.current.kill('SIGKILL')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isOver = true
    await this.current.kill('SIGKILL')
  }
}
