/** Protobuf's wire format, as far as spans need it: a growing buffer and methods that write to it. */
export class ProtobufWriter {
  private bytes: Uint8Array<ArrayBuffer>
  private at = 0

  constructor(size: number) {
    this.bytes = new Uint8Array(size)
  }

  get written(): Uint8Array<ArrayBuffer> {
    return this.bytes.subarray(0, this.at)
  }

  /** The current position, for `since`. */
  get place(): number {
    return this.at
  }

  /**
   * Begins a field with a length prefix, and reserves one byte for it, which is enough for most. `end` takes
   * the returned position.
   */
  begin(field: number): number {
    this.tag(field, LENGTH_FIRST)
    return this.at++
  }

  end(begun: number): void {
    const length = this.at - begun - 1
    if (length < 0x80) {
      this.bytes[begun] = length
      return
    }
    const more = sizeOf(length) - 1
    this.makeRoom(more)
    this.bytes.copyWithin(begun + 1 + more, begun + 1, this.at)
    const end = this.at + more
    this.at = begun
    this.varint(length)
    this.at = end
  }

  /** A whole number from 0 to 2^32 - 1. */
  uint(field: number, value: number): void {
    this.tag(field, VARINT)
    this.varint(value)
  }

  /** Any whole number of 64 bits. */
  int(field: number, value: number): void {
    if (value >= 0 && value <= 0xffff_ffff) return this.uint(field, value)
    this.tag(field, VARINT)
    let rest = BigInt.asUintN(64, BigInt(value))
    for (; rest > 0x7fn; rest >>= 7n) this.bytes[this.at++] = Number(rest & 0x7fn) | 0x80
    this.bytes[this.at++] = Number(rest)
  }

  double(field: number, value: number): void {
    this.tag(field, EIGHT_BYTES)
    new DataView(this.bytes.buffer).setFloat64(this.at, value, true)
    this.at += 8
  }

  fixed32(field: number, value: number): void {
    this.tag(field, FOUR_BYTES)
    this.word(value)
  }

  /**
   * Milliseconds as nanoseconds. No JavaScript number holds these 64 bits, so they are computed as two
   * halves, and the lower may carry into the upper.
   */
  nanoseconds(field: number, ms: number): void {
    this.tag(field, EIGHT_BYTES)
    const upper = Math.floor(ms / 0x1_0000)
    const lower = (Math.imul(upper, 1_000_000) & 0xffff) * 0x1_0000 + Math.round((ms - upper * 0x1_0000) * 1_000_000)
    this.word(lower)
    this.word(Math.floor((upper * 1_000_000) / 0x1_0000) + Math.floor(lower / 0x1_0000_0000))
  }

  /** The bytes that hexadecimal digits stand for. */
  hex(field: number, digits: string): void {
    const { length } = digits
    this.tag(field, LENGTH_FIRST, length / 2)
    this.varint(length / 2)
    // Here and below, locals hold what the loop uses: it is most of the work.
    const { bytes } = this
    let { at } = this
    for (let i = 0; i < length; i += 2)
      bytes[at++] = (DIGIT[digits.charCodeAt(i)]! << 4) | DIGIT[digits.charCodeAt(i + 1)]!
    this.at = at
  }

  text(field: number, text: string): void {
    const { length } = text
    // A UTF-16 unit takes three bytes at most.
    this.tag(field, LENGTH_FIRST, length * 3)
    const begun = this.at
    this.varint(length)
    const { bytes } = this
    let { at } = this
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i)
      if (unit > 0x7f) return this.utf8(text, begun)
      bytes[at++] = unit
    }
    this.at = at
  }

  /** The bytes written since then, to be repeated with `raw`. */
  since(place: number): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(place, this.at)
  }

  raw(bytes: Uint8Array): void {
    this.makeRoom(bytes.length)
    this.bytes.set(bytes, this.at)
    this.at += bytes.length
  }

  private utf8(text: string, begun: number): void {
    const encoded = UTF8.encode(text)
    this.at = begun
    this.varint(encoded.length)
    this.bytes.set(encoded, this.at)
    this.at += encoded.length
  }

  /** Ensures room for the tag and the value; `length` is the room for content beyond a number. */
  private tag(field: number, wireType: number, length = 0): void {
    this.makeRoom(length + LONGEST_NUMBERS)
    this.varint((field << 3) | wireType)
  }

  private varint(value: number): void {
    let rest = value
    for (; rest > 0x7f; rest >>>= 7) this.bytes[this.at++] = (rest & 0x7f) | 0x80
    this.bytes[this.at++] = rest
  }

  /** The lower 32 bits of a number. */
  private word(value: number): void {
    const { bytes, at } = this
    bytes[at] = value
    bytes[at + 1] = value >>> 8
    bytes[at + 2] = value >>> 16
    bytes[at + 3] = value >>> 24
    this.at = at + 4
  }

  private makeRoom(length: number): void {
    if (this.at + length <= this.bytes.length) return
    const larger = new Uint8Array(Math.max(this.bytes.length * 2, this.at + length))
    larger.set(this.bytes)
    this.bytes = larger
  }
}

const [VARINT, EIGHT_BYTES, LENGTH_FIRST, FOUR_BYTES] = [0, 1, 2, 5]
/** A tag, and a length or a number of 64 bits. */
const LONGEST_NUMBERS = 5 + 10
const UTF8 = new TextEncoder()
/** Indexed by the digit's character code. */
const DIGIT = Uint8Array.from({ length: 128 }, (_, code) => Number.parseInt(String.fromCharCode(code), 16) || 0)

/** How many bytes a length takes. */
const sizeOf = (value: number): number => Math.max(1, Math.ceil((32 - Math.clz32(value)) / 7))
