import { type EventMapping, isMapping } from '../sdk/events/mapping.ts'
import { eachWithItsName } from './registry-of.ts'

/** What events do to runs, among the exports of an entry file. Apart from the rest, because JSONata comes with it, which a runner has no need of. */
export function mappingsOf(exports: Record<string, unknown>): EventMapping[] {
  return eachWithItsName('mappings', Object.values(exports).filter(isMapping))
}
