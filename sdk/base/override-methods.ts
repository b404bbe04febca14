/** The same object, but for a few of its methods. Each works on the object that it is of, private fields and all. */
export function overrideMethods<T extends object>(original: T, methods: Partial<T>): T {
  return new Proxy(original, {
    get(target, name) {
      const whose: object = name in methods ? methods : target
      const member: unknown = Reflect.get(whose, name, whose)
      return typeof member === 'function' ? member.bind(whose) : member
    },
  })
}
