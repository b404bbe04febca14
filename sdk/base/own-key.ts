/**
 * The key that a client gives a call of its own accord, so that it can repeat the call when no answer comes. It is not
 * repeated for long, unlike a key that somebody has chosen.
 */
export const OWN_KEY = 'once-'
export const ownKey = (): string => `${OWN_KEY}${crypto.randomUUID()}`
