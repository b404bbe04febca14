/**
 * 64 bits of FNV-1a: enough to tell things apart, and the same in every browser. Kept as two halves in 32-bit
 * integer arithmetic, because traces need an id for every step: BigInt is far slower, and so are larger
 * numbers.
 */
export class Hash {
  private high: number
  private low: number

  constructor(high = 0xcbf29ce4, low = 0x84222325) {
    this.high = high | 0
    this.low = low | 0
  }

  /** A hash that goes on from here; this one stays as it is. */
  with(text: string): Hash {
    return new Hash(this.high, this.low).add(text)
  }

  private add(text: string): this {
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit > 127) return this.addBytes(new TextEncoder().encode(text.slice(i)))
      this.addByte(unit)
    }
    return this
  }

  private addBytes(bytes: Uint8Array): this {
    for (const byte of bytes) this.addByte(byte)
    return this
  }

  /**
   * Multiplies by the prime 2^40 + 0x1b3, modulo 2^64. The lower half is multiplied in two pieces, to keep
   * its carry.
   */
  private addByte(byte: number): void {
    const low = this.low ^ byte
    const first = (low & 0xffff) * 0x1b3
    const second = (low >>> 16) * 0x1b3 + (first >>> 16)
    this.high = (Math.imul(this.high, 0x1b3) + (low << 8) + (second >>> 16)) | 0
    this.low = (second << 16) | (first & 0xffff)
  }

  /** Its two halves. */
  get halves(): [high: number, low: number] {
    return [this.high >>> 0, this.low >>> 0]
  }

  /** 13 digits. */
  get base36(): string {
    const [high, low] = this.halves
    return ((BigInt(high) << 32n) | BigInt(low)).toString(36).padStart(13, '0')
  }
}
