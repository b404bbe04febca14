import { Duration } from 'aws-cdk-lib'
import { EventBus, type IEventBus } from 'aws-cdk-lib/aws-events'
import { FilterCriteria, FilterRule, type IFunction, StartingPosition } from 'aws-cdk-lib/aws-lambda'
import { DynamoEventSource, SqsDlq } from 'aws-cdk-lib/aws-lambda-event-sources'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import type { FunctionProps } from './function.ts'
import type { Overwinter } from './overwinter.ts'
import { lifecycleMay } from './permissions.ts'

type AddFunction = (id: string, props: Omit<FunctionProps, 'environment'> & { environment: Record<string, string> }) => IFunction

/** From the table's stream to an event bus: what is in the journal is told, whoever wrote it and died. */
export function addLifecycle(overwinter: Overwinter, target: true | IEventBus, add: AddFunction): IFunction {
  const bus = target === true ? EventBus.fromEventBusName(overwinter, 'DefaultBus', 'default') : target
  const handler = add('Lifecycle', {
    handler: 'lifecycle',
    description: 'Tells the event bus what happens to runs',
    memory: 256,
    timeout: Duration.minutes(1),
    environment: { OVERWINTER_EVENT_BUS: bus.eventBusName },
    may: lifecycleMay(overwinter, bus.eventBusArn),
  })
  handler.addEventSource(
    new DynamoEventSource(overwinter.table, {
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: 100,
      bisectBatchOnError: true,
      retryAttempts: 100,
      parallelizationFactor: 10,
      // Only new runs and new frames: claims and leases change the run item all the time.
      filters: [inserted({ S: FilterRule.isEqual('RUN') }), inserted({ S: FilterRule.beginsWith('J#') })],
      onFailure: new SqsDlq(new Queue(overwinter, 'LifecycleDeadLetters', { enforceSSL: true, retentionPeriod: Duration.days(14) })),
    }),
  )
  return handler
}

const inserted = (sk: { S: unknown }) => FilterCriteria.filter({ eventName: FilterRule.isEqual('INSERT'), dynamodb: { Keys: { sk } } })
