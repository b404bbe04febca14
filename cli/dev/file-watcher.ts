import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** One save causes several events, and editors save several files. */
const SETTLE_MS = 60

/**
 * Reports when one of the given files changes. It watches folders, not files: many editors replace a file to
 * save it.
 */
export class FileWatcher {
  private readonly files = new Set<string>()
  private readonly folders = new Map<string, FSWatcher>()
  private readonly onChange: (file: string) => void
  private settling: NodeJS.Timeout | undefined

  constructor(onChange: (file: string) => void) {
    this.onChange = onChange
  }

  add(file: string): void {
    this.files.add(file)
    const folder = dirname(file)
    if (this.folders.has(folder)) return
    this.folders.set(
      folder,
      watch(folder, (_event, name) => {
        const changed = name === null ? file : join(folder, basename(name))
        if (this.files.has(changed)) this.heard(changed)
      }).on('error', () => this.folders.delete(folder)),
    )
  }

  close(): void {
    clearTimeout(this.settling)
    for (const folder of this.folders.values()) folder.close()
  }

  private heard(file: string): void {
    clearTimeout(this.settling)
    this.settling = setTimeout(() => this.onChange(file), SETTLE_MS)
  }
}
