import { inOneGo, type Procedure } from '../../sdk/rules/procedure.ts'
import type { Storage, StoredRun } from '../../sdk/rules/storage.ts'

export const NOW = Date.parse('2026-01-01T00:00:00Z')

/** A call of the storage: its name and what it was given. */
export type Call = [name: string, ...given: unknown[]]

/** What a call answers: always the same, or one after the other where it is a list in a `script`. */
type Answers = Partial<Record<keyof Storage, unknown>>

class Script {
  readonly answers: unknown[]
  constructor(answers: unknown[]) {
    this.answers = answers
  }
}

/** Answers for calls of the same name, in their order; more calls than answers is an error. */
export const script = (...answers: unknown[]): Script => new Script(answers)

/**
 * A storage that answers as it is told and remembers what it was asked, in order. With it a rule is tested as what it
 * is: a decision, made of what is stored. Others' doings between two calls are simply other answers.
 */
export function scripted(answers: Answers): { storage: Storage; calls: Call[] } {
  const calls: Call[] = []
  const answer = (name: string) => {
    const said = answers[name as keyof Storage]
    if (!(said instanceof Script)) return said
    if (said.answers.length === 0) throw new Error(`${name} was called more often than the script has answers`)
    return said.answers.shift()
  }
  const call =
    (name: string) =>
    (...given: unknown[]) => {
      calls.push([name, ...given])
      return answer(name)
    }
  const storage = new Proxy({} as Storage, { get: (_, name: string) => (name === 'now' ? () => NOW : call(name)) })
  return { storage, calls }
}

/** What a rule answers and all that it asked of the storage meanwhile. */
export function decide<T>(
  rule: (storage: Storage) => Procedure<T>,
  answers: Answers,
): { result: T; calls: Call[]; named(name: keyof Storage): unknown[][] } {
  const { storage, calls } = scripted(answers)
  const result = inOneGo(rule(storage))
  return { result, calls, named: (name) => calls.filter(([each]) => each === name).map(([, ...given]) => given) }
}

/** A run in the hands of its fifth holder, with two messages seen. */
export function stored(changes: Partial<StoredRun> = {}): StoredRun {
  return {
    id: 'run',
    workflow: 'order',
    version: 1,
    format: 2,
    status: 'running',
    generation: 0,
    baseSeq: 0,
    epoch: 5,
    stimulus: 2,
    claims: 1,
    leaseUntil: NOW + 30_000,
    createdAt: NOW - 60_000,
    ...changes,
  }
}
