import { createHash, timingSafeEqual } from 'node:crypto'
import { type Duration, milliseconds } from '../base/duration.ts'
import { InvalidInputError } from '../base/errors.ts'
import { checkName } from '../base/names.ts'
import type { DocumentStore } from '../ports/documents.ts'
import type { Clock, Ids } from '../ports/world.ts'

/** The scopes of a token. `work` is for external workers, and the only one that opens their routes. */
const SCOPE = { start: true, read: true, operate: true, settle: true, work: true }
export type TokenScope = keyof typeof SCOPE
export const TOKEN_SCOPES = Object.keys(SCOPE) as TokenScope[]
export const isTokenScope = (word: unknown): word is TokenScope =>
  typeof word === 'string' && Object.hasOwn(SCOPE, word)

/** What the bearer of a token may do, and for which workflows, if not for all. */
export interface Permission {
  scopes: readonly TokenScope[]
  workflows?: readonly string[]
}

/** What anyone who may list tokens can see of one. */
export interface TokenView {
  id: string
  name: string
  scopes: TokenScope[]
  /** The workflows it is good for; all of them when absent. */
  workflows?: string[]
  /** The types of tasks it is good for; all of them when absent. */
  types?: string[]
  createdAt: number
  expiresAt?: number
  state: 'valid' | 'expired' | 'revoked'
}

export interface NewToken {
  name: string
  /** Default: `work`. */
  scopes?: readonly TokenScope[]
  /** Default: all. */
  workflows?: readonly string[]
  /** Of `work`. Default: all. */
  types?: readonly string[]
  expiresIn?: Duration
}

/** Which tasks a worker may take. */
export interface Scope {
  allows(type: string): boolean
}

/** A token without scopes was made for workers, before there were other scopes. */
type Stored = Omit<TokenView, 'id' | 'state' | 'scopes'> & { scopes?: TokenScope[]; sha256: string; revokedAt?: number }

const COLLECTION = 'worker-tokens'
const PREFIX = 'owt'
const EVERYTHING: Scope = { allows: () => true }
/** Revoked and expired tokens stay in the list for a while, so that people can see what happened to them. */
const SHOWN_AFTER_MS = 30 * 86_400_000

/**
 * Which workers may connect, and which parts of the API a token opens. Only digests are stored: a token is
 * shown once, when it is made.
 */
export class Tokens {
  private readonly documents: DocumentStore
  private readonly clock: Clock
  private readonly ids: Ids
  /** A token from the environment, valid for all work. */
  private readonly given: Buffer | undefined

  constructor(world: { documents: DocumentStore; clock: Clock; ids: Ids }, given?: string) {
    this.documents = world.documents
    this.clock = world.clock
    this.ids = world.ids
    this.given = given ? sha256(given) : undefined
  }

  async create({
    name,
    scopes = ['work'],
    workflows,
    types,
    expiresIn,
  }: NewToken): Promise<TokenView & { token: string }> {
    checkName('the name of a token', name)
    checkTerms({ scopes, workflows, types })
    const now = this.clock.now()
    const id = this.ids.messageId().replaceAll(/[^A-Za-z0-9]/g, '')
    const token = `${PREFIX}_${id}_${this.ids.secret()}`
    const stored: Stored = {
      name,
      scopes: TOKEN_SCOPES.filter((scope) => scopes.includes(scope)),
      ...(workflows && { workflows: [...workflows] }),
      ...(types && { types: [...types] }),
      createdAt: now,
      ...(expiresIn !== undefined && { expiresAt: now + milliseconds(expiresIn, 'the time until the token expires') }),
      sha256: sha256(token).toString('hex'),
    }
    await this.documents.put(COLLECTION, id, stored, {
      ifVersion: 0,
      ...(stored.expiresAt !== undefined && { expiresAt: stored.expiresAt + SHOWN_AFTER_MS }),
    })
    return { ...this.view(id, stored), token }
  }

  async list(): Promise<TokenView[]> {
    const documents = await this.documents.list(COLLECTION)
    return documents
      .map(({ key, value }) => this.view(key, value as unknown as Stored))
      .sort((a, b) => a.createdAt - b.createdAt)
  }

  /** False when there is no such token. Revoking twice is harmless. */
  async revoke(id: string): Promise<boolean> {
    const found = await this.documents.get(COLLECTION, id)
    if (!found) return false
    const stored = found.value as unknown as Stored
    const now = this.clock.now()
    if (stored.revokedAt === undefined)
      await this.documents.put(COLLECTION, id, { ...stored, revokedAt: now }, { expiresAt: now + SHOWN_AFTER_MS })
    return true
  }

  /** The tasks that this token gives access to; undefined if there are none. */
  async scopeOf(token: string): Promise<Scope | undefined> {
    if (this.given && timingSafeEqual(sha256(token), this.given)) return EVERYTHING
    const found = await this.find(token)
    if (!found?.scopes.includes('work')) return undefined
    const { types } = found
    return types ? { allows: (type) => types.includes(type) } : EVERYTHING
  }

  /** The parts of the API that this token opens; undefined for an invalid one. */
  async permissionOf(token: string): Promise<Permission | undefined> {
    const found = await this.find(token)
    return found && { scopes: found.scopes, ...(found.workflows && { workflows: found.workflows }) }
  }

  private async find(token: string): Promise<TokenView | undefined> {
    const [, id] = new RegExp(`^${PREFIX}_([A-Za-z0-9]+)_`).exec(token) ?? []
    const found = id === undefined ? undefined : await this.documents.get(COLLECTION, id)
    if (!found) return undefined
    const stored = found.value as unknown as Stored
    const view = this.view(found.key, stored)
    return timingSafeEqual(sha256(token), Buffer.from(stored.sha256, 'hex')) && view.state === 'valid'
      ? view
      : undefined
  }

  private view(id: string, { sha256: _, revokedAt, scopes = ['work'], ...stored }: Stored): TokenView {
    const isExpired = stored.expiresAt !== undefined && stored.expiresAt <= this.clock.now()
    return { id, ...stored, scopes, state: revokedAt !== undefined ? 'revoked' : isExpired ? 'expired' : 'valid' }
  }
}

/** Rejects contradictory terms when a token is made, before it is used. */
export function checkTerms({
  scopes = ['work'],
  workflows,
  types,
}: Pick<NewToken, 'scopes' | 'workflows' | 'types'>): void {
  const unknown = scopes.find((scope) => !isTokenScope(scope))
  if (unknown !== undefined) throw new InvalidInputError(`'${unknown}' is no scope; known: ${TOKEN_SCOPES.join(', ')}`)
  if (scopes.length === 0)
    throw new InvalidInputError(`a token without a scope would be good for nothing; known: ${TOKEN_SCOPES.join(', ')}`)
  for (const workflow of workflows ?? []) checkName('the name of a workflow', workflow)
  for (const type of types ?? []) checkName('a task type', type)
  if (types?.length === 0)
    throw new InvalidInputError(
      'a token for no type of task would be good for nothing; leave the types out to allow all of them',
    )
  if (workflows?.length === 0)
    throw new InvalidInputError(
      'a token for no workflow would be good for nothing; leave the workflows out to allow all of them',
    )
  if (types && !scopes.includes('work'))
    throw new InvalidInputError("types of tasks are for tokens with the scope 'work'")
  if (workflows && scopes.includes('work'))
    throw new InvalidInputError(
      "tasks are told apart by their types, not by workflow: make a token of its own for 'work'",
    )
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
