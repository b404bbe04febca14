import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'

type Bytes = string | ArrayBuffer | ArrayBufferView

/**
 * In the place of the AWS SDK's checksums, which bring along SHA-256 in JavaScript for machines without a native one. Lambda is none of those, and it was 4 KB of the runner's bundle. Signatures
 * are made with this.
 */
export class Sha256 {
  private readonly secret: Bytes | undefined
  private hash: Hash | Hmac

  constructor(secret?: Bytes) {
    this.secret = secret
    this.hash = this.begun()
  }

  update(data: Bytes): void {
    this.hash.update(plain(data))
  }

  async digest(): Promise<Uint8Array> {
    // A plain one may go on afterwards, a keyed one is over.
    const hash = 'copy' in this.hash ? this.hash.copy() : this.hash
    return new Uint8Array(hash.digest())
  }

  reset(): void {
    this.hash = this.begun()
  }

  private begun(): Hash | Hmac {
    return this.secret === undefined ? createHash('sha256') : createHmac('sha256', plain(this.secret))
  }
}

function plain(data: Bytes): string | Buffer {
  if (typeof data === 'string') return data
  return ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data)
}
