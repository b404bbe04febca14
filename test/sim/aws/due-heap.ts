/** Things that become due, earliest first; of the same moment, in the order they came. */
export class DueHeap<T> {
  private readonly heap: { at: number; serial: number; thing: T }[] = []
  private serial = 0

  push(at: number, thing: T): void {
    const { heap } = this
    let i = heap.push({ at, serial: this.serial++, thing }) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!this.isBefore(i, parent)) return
      this.swap(i, parent)
      i = parent
    }
  }

  /** When the earliest is due. */
  get next(): number | undefined {
    return this.heap[0]?.at
  }

  /** Takes the earliest, if it is due. */
  popDue(now: number): { at: number; thing: T } | undefined {
    const { heap } = this
    const first = heap[0]
    if (!first || first.at > now) return undefined
    const last = heap.pop()!
    if (heap.length > 0) {
      heap[0] = last
      this.sink()
    }
    return first
  }

  private sink(): void {
    const { length } = this.heap
    for (let i = 0; ; ) {
      const left = 2 * i + 1
      let least = i
      if (left < length && this.isBefore(left, least)) least = left
      if (left + 1 < length && this.isBefore(left + 1, least)) least = left + 1
      if (least === i) return
      this.swap(i, least)
      i = least
    }
  }

  private isBefore(i: number, j: number): boolean {
    const [a, b] = [this.heap[i]!, this.heap[j]!]
    return a.at < b.at || (a.at === b.at && a.serial < b.serial)
  }

  private swap(i: number, j: number): void {
    const { heap } = this
    const a = heap[i]!
    heap[i] = heap[j]!
    heap[j] = a
  }
}
