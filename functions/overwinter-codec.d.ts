/** The user's codec: the bundler puts it here (an alias), under a name that nothing in npm has. */
declare module 'overwinter-codec'

/**
 * `user-codec.ts`, or `no-codec.ts` without a codec, so that a bundle without one does not contain the code
 * for it.
 */
declare module 'overwinter-coding' {
  export const coded: <W extends import('../sdk/ports/world.ts').World>(world: W) => W
}
