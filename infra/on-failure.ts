import { type EventPattern, Rule } from 'aws-cdk-lib/aws-events'
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import { STATUS_CHANGE } from '../functions/status-change.ts'
import { FAILURE_RUNS } from '../sdk/base/names.ts'
import { ON_FAILURE } from '../sdk/events/mapping.ts'
import { EventSource } from './event-source.ts'
import type { OverwinterProps } from './options.ts'
import type { Overwinter } from './overwinter.ts'

/** A workflow by its name, whose runs get what the event of the change of state says; or a topic that is told. */
export type OnFailure = { workflow: string } | { topic: ITopic }

/** What the ids of runs begin with that were started for a failure, and those of their children as a rule. If they fail too, nobody is called for that: it would go on for ever. */
const OTHERS = { 'anything-but': { prefix: FAILURE_RUNS } }
/** One for each failure, however often it is told: who it was, and which attempt. */
const RUN_ID = `"${FAILURE_RUNS}" & $join($split(detail.id, "/")[[1..3]], "~")`

/** Failures are told by the event bus, so that has to be on. */
export function withItsEvents(props: OverwinterProps): OverwinterProps {
  const { onFailure, lifecycleEvents } = props
  if (!onFailure) return props
  if ('workflow' in onFailure === 'topic' in onFailure)
    throw new Error('onFailure must have a workflow, by its name, or a topic; one of the two')
  if (lifecycleEvents === false)
    throw new Error(
      'onFailure needs lifecycleEvents, by which failures are told. Leave lifecycleEvents out, or give true or an event bus',
    )
  return { ...props, lifecycleEvents: lifecycleEvents ?? true }
}

/** Calls somebody when a run fails or is stuck. */
export function addOnFailure(overwinter: Overwinter, { onFailure, lifecycleEvents }: OverwinterProps): void {
  if (!onFailure) return
  const bus = typeof lifecycleEvents === 'object' ? lifecycleEvents : undefined
  const pattern: EventPattern = {
    source: ['overwinter'],
    detailType: [STATUS_CHANGE],
    // Of this construct: others may use the same bus.
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
