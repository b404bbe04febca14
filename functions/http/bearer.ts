import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * Lets requests in that carry this token. Digests are compared, so neither content nor length shows in the
 * time it takes.
 */
export function bearer(token: string): (request: Request) => boolean {
  if (token === '') throw new Error('an empty bearer token would let every request in; give one that is not empty')
  const expected = sha256(token)
  return (request) => {
    const given = tokenIn(request)
    return given !== undefined && timingSafeEqual(sha256(given), expected)
  }
}

export function tokenIn(request: Request): string | undefined {
  return /^Bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
}

const sha256 = (text: string) => createHash('sha256').update(text).digest()
