import { createHash, timingSafeEqual } from 'node:crypto'
import { type Duration, milliseconds } from '../engine/duration.ts'
import { InvalidInputError } from '../engine/errors.ts'
import { checkName } from '../engine/names.ts'
import type { Clock, DocumentStore, Ids } from '../ports.ts'

/** What may be known of a token by everybody who may see the list. */
export interface TokenView {
  id: string
  name: string
  /** The types of tasks it is good for; all of them when absent. */
  types?: string[]
  createdAt: number
  expiresAt?: number
  state: 'valid' | 'expired' | 'revoked'
}

export interface NewToken {
  name: string
  types?: readonly string[]
  expiresIn?: Duration
}

/** What a caller may do. */
export interface Scope {
  allows(type: string): boolean
}

type Stored = Omit<TokenView, 'id' | 'state'> & { sha256: string; revokedAt?: number }

const COLLECTION = 'worker-tokens'
const PREFIX = 'owt'
const EVERYTHING: Scope = { allows: () => true }
/** Revoked and expired tokens are listed for a while, so that people can see what happened to them. */
const SHOWN_AFTER_MS = 30 * 86_400_000

/** Who may work. Only digests are stored: a token is shown once, when it is made. */
export class WorkerTokens {
  private readonly documents: DocumentStore
  private readonly clock: Clock
  private readonly ids: Ids
  /** A token that the environment gives, good for everything. */
  private readonly given: Buffer | undefined

  constructor(world: { documents: DocumentStore; clock: Clock; ids: Ids }, given?: string) {
    this.documents = world.documents
    this.clock = world.clock
    this.ids = world.ids
    this.given = given ? sha256(given) : undefined
  }

  async create({ name, types, expiresIn }: NewToken): Promise<TokenView & { token: string }> {
    checkName('the name of a token', name)
    for (const type of types ?? []) checkName('a task type', type)
    if (types?.length === 0) throw new InvalidInputError('a token for no type of task would be good for nothing; leave the types out to allow all of them')
    const now = this.clock.now()
    const id = this.ids.messageId().replaceAll(/[^A-Za-z0-9]/g, '')
    const token = `${PREFIX}_${id}_${this.ids.secret()}`
    const stored: Stored = {
      name,
      ...(types && { types: [...types] }),
      createdAt: now,
      ...(expiresIn !== undefined && { expiresAt: now + milliseconds(expiresIn, 'the time until the token expires') }),
      sha256: sha256(token).toString('hex'),
    }
    await this.documents.put(COLLECTION, id, stored, { ifVersion: 0, ...(stored.expiresAt !== undefined && { expiresAt: stored.expiresAt + SHOWN_AFTER_MS }) })
    return { ...this.view(id, stored), token }
  }

  async list(): Promise<TokenView[]> {
    const documents = await this.documents.list(COLLECTION)
    return documents.map(({ key, value }) => this.view(key, value as unknown as Stored)).sort((a, b) => a.createdAt - b.createdAt)
  }

  /** False when there is no such token. Revoking twice is harmless. */
  async revoke(id: string): Promise<boolean> {
    const found = await this.documents.get(COLLECTION, id)
    if (!found) return false
    const stored = found.value as unknown as Stored
    const now = this.clock.now()
    if (stored.revokedAt === undefined) await this.documents.put(COLLECTION, id, { ...stored, revokedAt: now }, { expiresAt: now + SHOWN_AFTER_MS })
    return true
  }

  /** What this token opens; undefined for one that opens nothing. */
  async scopeOf(token: string): Promise<Scope | undefined> {
    const digest = sha256(token)
    if (this.given && timingSafeEqual(digest, this.given)) return EVERYTHING
    const [, id] = new RegExp(`^${PREFIX}_([A-Za-z0-9]+)_`).exec(token) ?? []
    const found = id === undefined ? undefined : await this.documents.get(COLLECTION, id)
    if (!found) return undefined
    const stored = found.value as unknown as Stored
    if (!timingSafeEqual(digest, Buffer.from(stored.sha256, 'hex')) || this.view(found.key, stored).state !== 'valid') return undefined
    const { types } = stored
    return types ? { allows: (type) => types.includes(type) } : EVERYTHING
  }

  private view(id: string, { sha256: _, revokedAt, ...stored }: Stored): TokenView {
    const isExpired = stored.expiresAt !== undefined && stored.expiresAt <= this.clock.now()
    return { id, ...stored, state: revokedAt !== undefined ? 'revoked' : isExpired ? 'expired' : 'valid' }
  }
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
