/** Replaces `user-codec.ts` if the user has no codec: the world as it is. */
export const coded = <W>(world: W): W => world
