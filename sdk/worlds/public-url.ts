import { InvalidInputError } from '../base/errors.ts'

/** An address that paths can be put behind; a mistake in it would only show when somebody follows a link. */
export function checkPublicUrl(url: string | undefined, what = 'publicUrl'): string | undefined {
  if (url === undefined) return undefined
  if (!/^https?:\/\/[^/?#\s]+(\/[^?#\s]*)?$/.test(url) || !URL.canParse(url)) {
    throw new InvalidInputError(
      `${what} must be the address of the HTTP API, such as https://api.example.com, got '${url}'`,
    )
  }
  return url.replace(/\/+$/, '')
}
