import fc from 'fast-check'

/** Everything that goes through unchanged, nested at will. */
export const anyValue = (): fc.Arbitrary<unknown> =>
  fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(
        null,
        true,
        false,
        '',
        0,
        -0,
        Number.NaN,
        Number.POSITIVE_INFINITY,
        Number.NEGATIVE_INFINITY,
        undefined,
      ),
      fc.string({ unit: 'grapheme' }),
      fc.double(),
      fc.integer(),
      fc.bigInt(),
      fc.date({ noInvalidDate: false }),
      fc.webUrl().map((url) => new URL(url)),
      fc.uint8Array().map((bytes) => new Uint8Array(bytes)),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      fc.constantFrom(/a+b/gi, /\/[/]\n/u, /(?:)/),
      fc
        .record({ message: fc.string(), code: fc.integer(), at: fc.date() })
        .map(({ message, ...fields }) => Object.assign(new TypeError(message), fields)),
      fc.array(tie('value')),
      fc.array(tie('value')).map((values) => new Set(values)),
      fc.array(fc.tuple(tie('value'), tie('value'))).map((pairs) => new Map(pairs)),
      // Keys that look like ours, and such as are dangerous.
      fc
        .dictionary(
          fc.oneof(
            fc.string(),
            fc.constantFrom('~date', '~plain', '~map', '~undefined', '__proto__', 'constructor', 'toJSON'),
          ),
          tie('value'),
        )
        .map(withoutUndefined),
    ),
  })).value

/** A property that is undefined is as one that is not there. */
function withoutUndefined(object: Record<string, unknown>): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(object)) {
    if (object[key] !== undefined)
      Object.defineProperty(copy, key, { value: object[key], enumerable: true, configurable: true, writable: true })
  }
  return copy
}
