import type { Operation } from './operation.ts'

/** A part of the code that can be taken back as a whole: one competitor in a race, one item of a map. */
export class Branch {
  private readonly calls: Operation[] = []
  private readonly inner: Branch[] = []
  private withdrawn = false

  constructor(outer?: Branch) {
    outer?.inner.push(this)
    this.withdrawn = outer?.withdrawn ?? false
  }

  /** The branch was taken back: what it calls from now on has no effect. */
  get isWithdrawn(): boolean {
    return this.withdrawn
  }

  note(operation: Operation): void {
    this.calls.push(operation)
  }

  /** What it, or a branch of its own, has called. */
  everything(): Operation[] {
    return [...this.calls, ...this.inner.flatMap((branch) => branch.everything())]
  }

  /** Operations of the branch that have not settled. */
  withdraw(): Operation[] {
    if (this.withdrawn) return []
    this.withdrawn = true
    return [...this.calls.filter(({ settled }) => !settled), ...this.inner.flatMap((branch) => branch.withdraw())]
  }
}
