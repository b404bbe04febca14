import { type EventMapping, isMapping } from '../sdk/events/mapping.ts'
import { eachWithItsName } from './registry-of.ts'

/**
 * The event mappings among the exports of an entry file. In a file of its own, because it loads JSONata,
 * which a runner does not need.
 */
export function mappingsOf(exports: Record<string, unknown>): EventMapping[] {
  return eachWithItsName('mappings', Object.values(exports).filter(isMapping))
}
