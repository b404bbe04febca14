/** The user's codec: the bundler puts it here (an alias), under a name that nothing in npm has. */
declare module 'overwinter-codec'

/** `user-codec.ts` where there is one, `no-codec.ts` where there is none, so that who has none does not carry it. */
declare module 'overwinter-coding' {
  export const coded: <W extends import('../sdk/ports/world.ts').World>(world: W) => W
}
