import { InvalidInputError } from '../base/errors.ts'

/** Checks a base URL for paths; a mistake in it would only show when a person follows a link. */
export function checkPublicUrl(url: string | undefined, what = 'publicUrl'): string | undefined {
  if (url === undefined) return undefined
  if (!/^https?:\/\/[^/?#\s]+(\/[^?#\s]*)?$/.test(url) || !URL.canParse(url)) {
    throw new InvalidInputError(
      `${what} must be the address of the HTTP API, such as https://api.example.com, got '${url}'`,
    )
  }
  return url.replace(/\/+$/, '')
}
