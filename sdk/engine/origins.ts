/** An error may point at very many others. */
const MOST_LOOKED_AT = 1_000

/** Which operation each error came from that the code was given. */
export class Origins {
  private known: Map<object, string> | undefined

  note(error: Error, op: string): void {
    this.known ??= new Map()
    this.known.set(error, op)
  }

  /** The operations whose failures an error goes back to, as far as it carries them along. */
  behind(error: unknown): string[] {
    const found = new Set<string>()
    const seen = new Set<unknown>()
    const look = (e: unknown): void => {
      if (typeof e !== 'object' || e === null || seen.has(e) || seen.size > MOST_LOOKED_AT) return
      seen.add(e)
      const op = this.known?.get(e)
      if (op !== undefined) return void found.add(op)
      const { cause, errors } = e as { cause?: unknown; errors?: unknown }
      look(cause)
      if (Array.isArray(errors)) errors.slice(0, MOST_LOOKED_AT).forEach(look)
    }
    try {
      look(error)
    } catch {
      // An error that cannot be looked into says nothing.
    }
    return [...found]
  }
}
