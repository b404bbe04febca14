/** As much of OTLP's binary form as tests look at, read without any library: Python's own classes read it in test/aws/traces.test.ts. */
export interface ReadSpan {
  traceId: string
  spanId: string
  parentSpanId: string
  name: string
  startMs: number
  endMs: number
  links: { traceId: string; spanId: string }[]
}

type Fields = Map<number, (Buffer | bigint)[]>

export function readSpans(request: Buffer): ReadSpan[] {
  return messages(fieldsOf(request), 1)
    .flatMap((resourceSpans) => messages(resourceSpans, 2))
    .flatMap((scopeSpans) => messages(scopeSpans, 2))
    .map((span) => ({
      traceId: hex(span, 1),
      spanId: hex(span, 2),
      parentSpanId: hex(span, 4),
      name: String(span.get(5)![0]),
      startMs: Number((span.get(7)![0] as bigint) / 1_000_000n),
      endMs: Number((span.get(8)![0] as bigint) / 1_000_000n),
      links: messages(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
    }))
}

const messages = (fields: Fields, field: number): Fields[] =>
  (fields.get(field) ?? []).map((value) => fieldsOf(value as Buffer))
const hex = (fields: Fields, field: number): string =>
  ((fields.get(field)?.[0] as Buffer | undefined) ?? Buffer.alloc(0)).toString('hex')

function fieldsOf(bytes: Buffer): Fields {
  const fields: Fields = new Map()
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
  }
  const take = (length: number): Buffer => bytes.subarray(at, (at += length))
  while (at < bytes.length) {
    const tag = Number(varint())
    const read = {
      0: varint,
      1: () => take(8).readBigUInt64LE(),
      2: () => take(Number(varint())),
      5: () => BigInt(take(4).readUInt32LE()),
    }[tag & 7]
    if (!read) throw new Error(`there is no wire type ${tag & 7}`)
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), read()])
  }
  return fields
}
