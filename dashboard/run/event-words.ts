import type { PlacedEvent } from '../api.ts'
import { duration, relative } from '../format.ts'

/** The operation that an event belongs to. */
export const opOf = (event: PlacedEvent): string | undefined => ('id' in event ? event.id : undefined)

export const isError = (event: PlacedEvent): boolean =>
  'error' in event || /\.(failed|timedOut|rejected|refused)$/.test(event.type)

/** The details of an event beside its type and its operation, without payloads. */
export function wordsOf(event: PlacedEvent): string {
  const words: string[] = []
  if ('attempt' in event && event.attempt !== undefined)
    words.push(`attempt ${event.attempt}${'of' in event && event.of !== undefined ? ` of ${event.of}` : ''}`)
  if ('error' in event) words.push(`${event.error.name}: ${event.error.message.split('\n')[0]}`)
  if ('signal' in event) words.push(`signal '${event.signal}'`)
  if ('run' in event) words.push(event.run)
  if ('task' in event) words.push(event.task)
  if ('reason' in event && event.reason !== undefined) words.push(event.reason.split('\n')[0]!)
  if ('until' in event && event.until !== undefined)
    words.push(`until ${relative(event.until, event.at).replace('in ', '+')}`)
  if ('ms' in event && event.ms !== undefined && event.type.startsWith('step.')) words.push(duration(event.ms))
  if (event.type === 'map') words.push(`${event.count} items`)
  if (event.type === 'run.started') words.push(`${event.workflow} v${event.version}`)
  return words.join(' · ')
}
