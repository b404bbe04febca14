/** The same object, but for a few of its methods. Whatever else is called works on the original, private fields and all. */
export function overriding<T extends object>(original: T, methods: Partial<T>): T {
  return new Proxy(original, {
    get(target, name) {
      if (name in methods) return methods[name as keyof T]
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}
