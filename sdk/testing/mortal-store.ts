/** A store as one process sees it. After `die`, none of its calls has an effect. */
export function mortalStore<S extends object>(store: S): { store: S; die: () => void } {
  let dead = false
  const view = new Proxy(store, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property, target)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => (dead ? NEVER : Reflect.apply(member, target, args))
    },
    set: (target, property, value) => Reflect.set(target, property, value, target),
  })
  return { store: view, die: () => (dead = true) }
}

/** A dead process does not get an error either: its calls never settle. */
const NEVER = new Promise<never>(() => {})
