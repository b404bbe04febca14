import { noted, type Shape, text } from './kit.ts'

/** What stands in a path. Handlers check it where they look for it: what cannot be there is not there, a 404. */
export const PATH: Record<string, Shape<string>> = {
  id: noted(text, 'The id of the run, the task or the token.'),
  name: noted(text, 'Its name, percent-encoded.'),
  n: noted(text, "The place of an event in the history: its 'n'."),
  token: noted(text, 'The token of the callback, as the run handed it out.'),
  fingerprint: noted(text, 'Of the incident, as GET /incidents lists it.'),
}
