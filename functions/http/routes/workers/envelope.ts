/** What a request of a worker may have around its payload. */
export const ENVELOPE_BYTES = 16_384
