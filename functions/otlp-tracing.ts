import { traced as tracedIfWanted } from '../sdk/tracing/tracing.ts'
import type { AwsWorld } from '../sdk/worlds/aws/world.ts'
import { METRIC, metrics } from './metrics.ts'

/** Spans go where OpenTelemetry's variables say. One that is no URL must not keep runs from going on. */
export function traced(world: AwsWorld): { world: AwsWorld; flush?: () => Promise<void> } {
  try {
    const tracing = tracedIfWanted(world, { onDropped: (count) => metrics.add(METRIC.droppedSpans, 'Count', count) })
    return tracing ? { world: tracing.world, flush: () => tracing.exporter.flush() } : { world }
  } catch (error) {
    world.log('error', `there will be no traces: ${(error as Error).message}`, {})
    return { world }
  }
}
