import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'

type Data = string | ArrayBuffer | ArrayBufferView

/**
 * Stand in for the SDK's checksums, by an alias of the bundler. The SDK brings its own implementations along, for places
 * where Node has none; Lambda is not such a place.
 */
class NodeHash {
  private hash: Hash | Hmac
  private readonly begin: () => Hash | Hmac

  constructor(begin: () => Hash | Hmac) {
    this.begin = begin
    this.hash = begin()
  }

  update(data: Data): void {
    this.hash.update(bytes(data))
  }

  async digest(): Promise<Uint8Array> {
    const { buffer, byteOffset, byteLength } = this.hash.digest()
    return new Uint8Array(buffer, byteOffset, byteLength)
  }

  reset(): void {
    this.hash = this.begin()
  }
}

export class Sha256 extends NodeHash {
  constructor(secret?: Data) {
    super(() => (secret === undefined ? createHash('sha256') : createHmac('sha256', bytes(secret))))
  }
}

export class Md5 extends NodeHash {
  constructor() {
    super(() => createHash('md5'))
  }
}

function bytes(data: Data): Buffer {
  if (typeof data === 'string') return Buffer.from(data)
  return ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data)
}
