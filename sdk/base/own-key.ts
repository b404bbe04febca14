/**
 * A client gives each call such a key by itself, so that it can repeat the call when no answer comes. The client
 * repeats it only for a short time, unlike a key that a user has chosen.
 */
export const OWN_KEY = 'once-'
export const ownKey = (): string => `${OWN_KEY}${crypto.randomUUID()}`
