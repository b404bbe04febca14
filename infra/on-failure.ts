import { type EventPattern, Rule } from 'aws-cdk-lib/aws-events'
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import { STATUS_CHANGE } from '../functions/status-change.ts'
import { FAILURE_RUNS } from '../sdk/base/names.ts'
import { ON_FAILURE } from '../sdk/events/mapping.ts'
import { EventSource } from './event-source.ts'
import type { OverwinterProps } from './options.ts'
import type { Overwinter } from './overwinter.ts'

/** The workflow to start with the status change as its input, by its name; or the topic to notify. */
export type OnFailure = { workflow: string } | { topic: ITopic }

/**
 * The prefix of the ids of runs that were started for a failure, and usually of their children. If such a run
 * fails too, no further run is started: that could go on for ever.
 */
const OTHERS = { 'anything-but': { prefix: FAILURE_RUNS } }
/** One run for each failure, however often it is reported: the failed run's id and its attempt. */
const RUN_ID = `"${FAILURE_RUNS}" & $join($split(detail.id, "/")[[1..3]], "~")`

/** The event bus reports failures, so lifecycle events must be on. */
export function withItsEvents(props: OverwinterProps): OverwinterProps {
  const { onFailure, lifecycleEvents } = props
  if (!onFailure) return props
  if ('workflow' in onFailure === 'topic' in onFailure)
    throw new Error('onFailure must have a workflow, by its name, or a topic; one of the two')
  if (lifecycleEvents === false)
    throw new Error(
      'onFailure needs lifecycleEvents, which report failures. Leave lifecycleEvents out, or give true or ' +
        'an event bus',
    )
  return { ...props, lifecycleEvents: lifecycleEvents ?? true }
}

/** Starts a workflow or notifies a topic when a run fails or is stuck. */
export function addOnFailure(overwinter: Overwinter, { onFailure, lifecycleEvents }: OverwinterProps): void {
  if (!onFailure) return
  const bus = typeof lifecycleEvents === 'object' ? lifecycleEvents : undefined
  const pattern: EventPattern = {
    source: ['overwinter'],
    detailType: [STATUS_CHANGE],
    // Only events of this construct: others may use the same bus.
    resources: [{ prefix: `${overwinter.table.tableArn}/run/` }] as unknown as string[],
    detail: { status: ['FAILED', 'STUCK'], runId: [OTHERS], parentId: [{ exists: false }, OTHERS] },
  }
  if ('topic' in onFailure)
    new Rule(overwinter, 'OnFailure', {
      eventPattern: pattern,
      ...(bus && { eventBus: bus }),
      targets: [new SnsTopic(onFailure.topic)],
    })
  else
    overwinter.startOn(
      EventSource.bus(pattern, bus ? { bus } : {}),
      { workflow: onFailure.workflow, id: RUN_ID, input: 'detail' },
      { name: `${ON_FAILURE}${onFailure.workflow}` },
    )
}
