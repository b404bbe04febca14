import { canonicalJson, type Json } from '../base/json.ts'
import { digest } from '../base/names.ts'
import type { Document } from '../ports/documents.ts'
import type { World } from '../ports/world.ts'
import type { Definition } from './schema.ts'

/** What is known of a stored definition as a whole. One document per name; it stays when the definition is deleted. */
export interface Head {
  latest: number
  /** The digest of the latest version, to see whether another one differs. */
  digest: string
  /** The name that the definition gives its latest version. */
  label?: string
  createdAt: number
  updatedAt: number
  isDeleted?: true
}

export interface StoredVersion {
  definition: Definition
  version: number
  createdAt: number
}

const HEADS = 'definitions'
const versionsOf = (name: string): string => `definition ${name}`
const versionKey = (version: number): string => String(version).padStart(10, '0')
/** Longer than any wait: a run that was started while its definition was being deleted can still go on with it. */
const OUTLIVES_ITS_NAME_MS = 400 * 86_400_000

/**
 * Definitions as documents. A version is written once, under the next free number, and only then named the latest. A
 * number is never used again, not even after the definition was deleted: runs of the old version may still be there.
 */
export class DefinitionStore {
  private readonly world: Pick<World, 'documents' | 'clock'>

  constructor(world: Pick<World, 'documents' | 'clock'>) {
    this.world = world
  }

  async head(name: string): Promise<Document<Head> | undefined> {
    return (await this.world.documents.get(HEADS, name)) as Document<unknown> as Document<Head> | undefined
  }

  /** By name. */
  async heads(): Promise<{ name: string; head: Head }[]> {
    const found = (await this.world.documents.list(HEADS)) as Document<unknown>[] as Document<Head>[]
    return found.filter(({ value }) => !value.isDeleted).map(({ key, value }) => ({ name: key, head: value }))
  }

  async version(name: string, version: number): Promise<StoredVersion | undefined> {
    const found = await this.world.documents.get(versionsOf(name), versionKey(version))
    return found && ({ ...(found.value as object), version } as StoredVersion)
  }

  /** Returns the version that has this content: the latest one if nothing is new, else a new one. */
  async add(definition: Definition): Promise<{ version: number; isNew: boolean; createdAt: number }> {
    const { name } = definition
    const content = digest(canonicalJson(definition))
    for (;;) {
      const before = (await this.head(name))?.value
      if (before && !before.isDeleted && before.digest === content)
        return { version: before.latest, isNew: false, createdAt: before.updatedAt }
      const createdAt = this.world.clock.now()
      const value = { definition, createdAt } as unknown as Json
      let version = (before?.latest ?? 0) + 1
      while (!(await this.world.documents.put(versionsOf(name), versionKey(version), value, { ifVersion: 0 })))
        version++
      const head: Head = { latest: version, digest: content, createdAt, updatedAt: createdAt, ...labelOf(definition) }
      if (await this.makeLatest(name, head)) return { version, isNew: true, createdAt }
    }
  }

  /** Takes the name out of use; undefined if another process has changed it since it was read. */
  async markDeleted(name: string, { value, version }: Document<Head>): Promise<Document<Head> | undefined> {
    return this.putHead(name, { ...value, isDeleted: true }, version)
  }

  async restore(name: string, { value: { isDeleted: _, ...head }, version }: Document<Head>): Promise<void> {
    await this.putHead(name, head, version)
  }

  /** Lets the versions up to this number expire, and none that was added since. */
  async letVersionsExpire(name: string, upTo: number): Promise<void> {
    const { documents, clock } = this.world
    const expiresAt = clock.now() + OUTLIVES_ITS_NAME_MS
    for (const { key, value, version } of await documents.list(versionsOf(name))) {
      if (key <= versionKey(upTo)) await documents.put(versionsOf(name), key, value, { ifVersion: version, expiresAt })
    }
  }

  /**
   * Another process that added a later version has made that the latest. False if the name was deleted with
   * this version in it.
   */
  private async makeLatest(name: string, next: Head): Promise<boolean> {
    for (;;) {
      const before = await this.head(name)
      if (before && before.value.latest >= next.latest) return !before.value.isDeleted
      const createdAt = before && !before.value.isDeleted ? before.value.createdAt : next.createdAt
      if (await this.putHead(name, { ...next, createdAt }, before?.version ?? 0)) return true
    }
  }

  private async putHead(name: string, head: Head, ifVersion: number): Promise<Document<Head> | undefined> {
    const written = await this.world.documents.put(HEADS, name, head as unknown as Json, { ifVersion })
    return written as Document<unknown> as Document<Head> | undefined
  }
}

const labelOf = ({ version }: Definition): Pick<Head, 'label'> =>
  version === undefined ? {} : { label: String(version) }
