import { traced as tracedIfWanted } from '../sdk/tracing/tracing.ts'
import type { AwsWorld } from '../sdk/worlds/aws/world.ts'
import { METRIC, metrics } from './metrics.ts'

/** Sends spans where OpenTelemetry's variables say. An invalid URL must not stop runs. */
export function traced(world: AwsWorld): { world: AwsWorld; flush?: () => Promise<void> } {
  try {
    const tracing = tracedIfWanted(world, { onDropped: (count) => metrics.add(METRIC.droppedSpans, 'Count', count) })
    return tracing ? { world: tracing.world, flush: () => tracing.exporter.flush() } : { world }
  } catch (error) {
    world.log('error', `there will be no traces: ${(error as Error).message}`, {})
    return { world }
  }
}
