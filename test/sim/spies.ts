import type { Storage, StoredRun } from '../../sdk/rules/storage.ts'
import { type Ledger, lifeOf } from './cloud.ts'

/** The same object with other methods in some places; everything else works on the original. */
export function replacing<T extends object>(original: T, methods: Partial<T>): T {
  return new Proxy(original, {
    get: (target, property) => {
      const replaced = methods[property as keyof T]
      if (replaced) return replaced
      const member: unknown = Reflect.get(target, property, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

/** Goes on with an answer, whenever it comes: what a storage answers at once must stay in its transaction. */
export function after<T, R>(answer: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return answer instanceof Promise ? answer.then(next) : next(answer)
}

/** Notes which frames the rules are told are written. */
export function noting(
  storage: Storage,
  ledger: Ledger,
  onAppend?: (run: StoredRun, frame: Parameters<Storage['append']>[1]) => void,
): Storage {
  return replacing(storage, {
    append: (run, frame) =>
      after(storage.append(run, frame), (isWritten) => {
        if (isWritten) {
          ledger.acknowledge(lifeOf(run), frame)
          onAppend?.(run, frame)
        }
        return isWritten
      }),
  })
}
