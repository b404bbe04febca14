/** The user's codec, or `no-codec.ts`: the bundler puts it here (an alias), under a name that nothing in npm has. */
declare module 'overwinter-codec'
