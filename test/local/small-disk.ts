import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A disk of its own, of so many megabytes, in memory. Mounting takes rights that a test often does not have. */
export class SmallDisk {
  readonly folder = mkdtempSync(join(tmpdir(), 'overwinter-disk-'))

  constructor(megabytes: number) {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', this.folder], { stdio: 'pipe' })
  }

  /** More room, or less, while it is in use. */
  resize(megabytes: number): void {
    execFileSync('mount', ['-o', `remount,size=${megabytes}m`, this.folder], { stdio: 'pipe' })
  }

  makeReadOnly(): void {
    execFileSync('mount', ['-o', 'remount,ro', this.folder], { stdio: 'pipe' })
  }

  [Symbol.dispose](): void {
    // Lazily: a process that was killed a moment ago may still have a file open.
    execFileSync('umount', ['--lazy', this.folder])
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export const canMakeDisks = canMount()

function canMount(): boolean {
  try {
    new SmallDisk(1)[Symbol.dispose]()
    return true
  } catch {
    return false
  }
}
