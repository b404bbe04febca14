import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { outerEnvironment } from '../outside/environment.ts'

/** Somebody's own settings (a signing key, hooks, line ends) are not what is tested. */
const NOBODYS_GIT = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }

/** What somebody else would get of this repository if its working tree were pushed now: no more than git knows of. */
export class Clone {
  readonly folder: string

  constructor(root: string) {
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: root,
      env: outerEnvironment(),
      encoding: 'utf8',
    })
    // A file that was deleted and not yet committed is still listed.
    const files = listed.split('\0').filter((file) => file !== '' && existsSync(join(root, file)))
    this.folder = mkdtempSync(join(tmpdir(), 'overwinter-clone-'))
    for (const file of files) cpSync(join(root, file), join(this.folder, file))
    this.git('init', '--quiet')
    this.git('add', '--all')
    this.git(
      '-c',
      'user.name=Ada',
      '-c',
      'user.email=ada@example.com',
      'commit',
      '--quiet',
      '--no-verify',
      '--message',
      'As it is',
    )
  }

  /** What differs from what was cloned, one file a line. */
  changes(): string {
    return this.git('status', '--porcelain')
  }

  private git(...args: string[]): string {
    return execFileSync('git', args, {
      cwd: this.folder,
      env: { ...outerEnvironment(), ...NOBODYS_GIT },
      encoding: 'utf8',
    })
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
