/** An array that stays in order. */
export class Sorted<T> {
  readonly all: T[] = []
  private readonly compare: (a: T, b: T) => number

  constructor(compare: (a: T, b: T) => number) {
    this.compare = compare
  }

  add(one: T): void {
    this.all.splice(this.positionOf(one), 0, one)
  }

  remove(one: T): void {
    const position = this.positionOf(one)
    if (this.all[position] === one) this.all.splice(position, 1)
  }

  /** Where it is or would be: the first that does not come before it. */
  private positionOf(one: T): number {
    let [low, high] = [0, this.all.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.compare(this.all[middle]!, one) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}
