import { Duration } from 'aws-cdk-lib'
import { EventBus, type IEventBus } from 'aws-cdk-lib/aws-events'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { FilterCriteria, FilterRule, type Function as LambdaFunction, StartingPosition } from 'aws-cdk-lib/aws-lambda'
import { DynamoEventSource, SqsDlq } from 'aws-cdk-lib/aws-lambda-event-sources'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { queueEncryption } from './encryption.ts'
import type { FunctionProps } from './function.ts'
import type { Overwinter } from './overwinter.ts'
import { lifecycleMay } from './permissions.ts'

type AddFunction = (
  id: 'Lifecycle',
  props: Omit<FunctionProps, 'environment'> & { environment: Record<string, string> },
) => LambdaFunction

export interface Lifecycle {
  handler: LambdaFunction
  /** Events that the event bus refused a hundred times. */
  deadLetters: Queue
}

/**
 * From the table's stream to an event bus: every journaled change is reported, even if the runner that wrote
 * it died.
 */
export function addLifecycle(
  overwinter: Overwinter,
  target: true | IEventBus,
  kmsKey: IKey | undefined,
  add: AddFunction,
): Lifecycle {
  const bus = target === true ? EventBus.fromEventBusName(overwinter, 'DefaultBus', 'default') : target
  const handler = add('Lifecycle', {
    handler: 'lifecycle',
    description: 'Tells the event bus what happens to runs',
    memory: 256,
    timeout: Duration.minutes(1),
    environment: { OVERWINTER_EVENT_BUS: bus.eventBusName },
    may: lifecycleMay(overwinter, bus.eventBusArn),
    keyUse: 'read',
  })
  const deadLetters = new Queue(overwinter, 'LifecycleDeadLetters', {
    ...queueEncryption(kmsKey),
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  })
  handler.addEventSource(
    new DynamoEventSource(overwinter.table, {
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: 100,
      bisectBatchOnError: true,
      retryAttempts: 100,
      parallelizationFactor: 10,
      // New frames, and runs that begin, halt, continue or end. Claims and leases change the run item all the
      // time, and are left out.
      filters: [
        of(FilterRule.beginsWith('J#')),
        of(RUN_ITEM, { NewImage: { status: { S: ENDED_OR_HALTED } } }),
        of(RUN_ITEM, { NewImage: { epoch: { N: FilterRule.isEqual('0') } } }),
        of(RUN_ITEM, {
          NewImage: { status: { S: FilterRule.isEqual('pending') } },
          OldImage: { status: { S: FilterRule.or('stuck', 'failed') } },
        }),
      ],
      onFailure: new SqsDlq(deadLetters),
    }),
  )
  return { handler, deadLetters }
}

const RUN_ITEM = FilterRule.isEqual('RUN')
const ENDED_OR_HALTED = FilterRule.or('stuck', 'failed', 'completed', 'cancelled', 'terminated')

/** Items of runs. MODIFY too: a run that reuses an id replaces the item of the earlier run. */
function of(sk: unknown, images: object = {}): Record<string, unknown> {
  const Keys = { pk: { S: FilterRule.beginsWith('RUN#') }, sk: { S: sk } }
  return FilterCriteria.filter({ eventName: FilterRule.or('INSERT', 'MODIFY'), dynamodb: { Keys, ...images } })
}
