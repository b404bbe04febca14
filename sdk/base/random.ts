/** A small seeded generator (sfc32): workflow code gets the same numbers on every replay. */
export class SeededRandom {
  private a: number
  private b: number
  private c: number
  private counter = 1

  constructor(seed: string) {
    // Three FNV-1a passes with different offsets spread the seed over the state.
    const [a, b, c] = [0x811c9dc5, 0x9e3779b9, 0x85ebca6b].map((offset) => fnv1a(seed, offset)) as [
      number,
      number,
      number,
    ]
    this.a = a
    this.b = b
    this.c = c
    for (let i = 0; i < 12; i++) this.uint32()
  }

  /** In [0, 1). */
  next(): number {
    return this.uint32() / 0x1_0000_0000
  }

  uuid(): string {
    const hex = Array.from({ length: 4 }, () => this.uint32().toString(16).padStart(8, '0')).join('')
    const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16)
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
  }

  private uint32(): number {
    const t = (((this.a + this.b) | 0) + this.counter) | 0
    this.counter = (this.counter + 1) | 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) | 0
    this.c = ((this.c << 21) | (this.c >>> 11)) + t
    return t >>> 0
  }
}

export function fnv1a(text: string, offset: number): number {
  let hash = offset
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
