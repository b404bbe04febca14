/** Types that say, as far as types can, what `encode` (base/values.ts) refuses at run time. */

type AnyFunction = (...args: never[]) => unknown

/** What has methods and is stored all the same. */
type StoredInstance = Date | Map<unknown, unknown> | Set<unknown> | URL | RegExp | Uint8Array | Error

/**
 * In tuples, here and below: a type that the compiler does not know yet, in a user's generic function, then counts
 * as storable.
 */
type IsAny<T> = [0] extends [1 & T] ? true : false

/** True, false, or both where it depends. `Levels` ends what contains itself. */
type HasUnstorable<T, Levels extends 1[]> = [IsAny<T>] extends [true]
  ? false
  : [T] extends [never]
    ? false
    : T extends AnyFunction | symbol
      ? true
      : T extends StoredInstance
        ? false
        : T extends object
          ? Levels extends [1, ...infer Rest extends 1[]]
            ? true extends { [K in keyof T]: IsUnstorable<T[K], Rest> }[keyof T]
              ? true
              : false
            : false
          : false

/** Only what is certain: what may be a function, and may be none, is for run time. */
type IsUnstorable<T, Levels extends 1[] = [1, 1, 1, 1]> = [HasUnstorable<T, Levels>] extends [true] ? true : false

/** What the compiler says of a value with a function, a symbol or a method in it. */
export interface CannotBeStored {
  'a function or a symbol cannot be stored, nor an object with methods': never
}

/** `unknown` for what can be stored, so that `X & IfStorable<T>` is `X`. */
export type IfStorable<T> = [IsUnstorable<T>] extends [true] ? CannotBeStored : unknown

/** The arguments of a call that gives an input: none at all where `undefined` will do. */
export type Giving<I, Options> = [IsUnstorable<I>] extends [true]
  ? [input: CannotBeStored, options?: Options]
  : undefined extends I
    ? [input?: I, options?: Options]
    : [input: I, options?: Options]
