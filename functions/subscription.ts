import { type EventMapping, type MappingKind, mappingFromData } from '../sdk/events/mapping.ts'
import type { SourceKind } from '../sdk/events/shapes.ts'

/** The settings of a subscription's function, as JSON. */
export interface Subscription {
  /** Its name in dead letters. */
  name: string
  source: SourceKind
  kind: MappingKind
  /** The name of a mapping that the entry exports, or the fields of one. */
  mapping: string | Record<string, string>
  patienceMs: number
  /** For a queue with its own dead-letter queue: how often it delivers a message at most. */
  mostReceives?: number
}

/** The mapping of a subscription, or why there is none. */
export function mappingFor(
  { name, kind, mapping }: Subscription,
  exported: () => readonly EventMapping[],
): EventMapping | { problem: string } {
  try {
    return typeof mapping === 'string' ? found(mapping, kind, exported()) : mappingFromData(name, { kind, ...mapping })
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

function found(name: string, kind: MappingKind, exported: readonly EventMapping[]): EventMapping {
  const mapping = exported.find((each) => each.name === name)
  if (!mapping) {
    const known = exported.map((each) => each.name).join(', ') || 'none'
    throw new Error(
      `the entry exports no mapping named '${name}'; known: ${known}. Export it, deploy, and send the event again`,
    )
  }
  if (mapping.kind !== kind) {
    throw new Error(
      `mapping '${name}' is one of ${mapping.kind}On, and the stack has it in ${kind}On. Call ` +
        `${mapping.kind}On there, deploy, and send the event again`,
    )
  }
  return mapping
}
