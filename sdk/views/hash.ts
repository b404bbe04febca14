/**
 * 64 bits of FNV-1a: enough to tell things apart, and the same in every browser. Kept as two halves of 32 bits, because
 * BigInt is twenty times slower and traces ask for an id with every step.
 */
export class Hash {
  private high: number
  private low: number

  constructor(high = 0xcbf29ce4, low = 0x84222325) {
    this.high = high
    this.low = low
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

  /** Times the prime 2^40 + 0x1b3, modulo 2^64. */
  private addByte(byte: number): void {
    const low = (this.low ^ byte) >>> 0
    const product = low * 0x1b3
    this.high = (this.high * 0x1b3 + ((low << 8) >>> 0) + Math.floor(product / 0x1_0000_0000)) >>> 0
    this.low = product >>> 0
  }

  /** Its two halves. */
  get halves(): [high: number, low: number] {
    return [this.high, this.low]
  }

  /** 13 digits. */
  get base36(): string {
    return ((BigInt(this.high) << 32n) | BigInt(this.low)).toString(36).padStart(13, '0')
  }
}
