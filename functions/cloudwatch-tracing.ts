import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { OTLP_TYPE, refuseUnlessTaken } from '../sdk/tracing/endpoint.ts'
import type { ExporterOptions } from '../sdk/tracing/exporter.ts'
import { tracedWith } from '../sdk/tracing/tracing.ts'
import { SignedFetch } from '../sdk/worlds/aws/signed-fetch.ts'
import type { AwsWorld } from '../sdk/worlds/aws/world.ts'
import { METRIC, metrics } from './metrics.ts'

const PATH = '/v1/traces'

/** Spans go to CloudWatch in this region, signed as the function itself. */
export function traced(world: AwsWorld): { world: AwsWorld; flush: () => Promise<void> } {
  const { world: told, exporter } = tracedWith(world, sendSigned(new SignedFetch(new DynamoDBClient())), {
    onDropped: (count) => metrics.add(METRIC.droppedSpans, 'Count', count),
    ...(process.env.POWERTOOLS_SERVICE_NAME !== undefined && {
      serviceName: process.env.OTEL_SERVICE_NAME || process.env.POWERTOOLS_SERVICE_NAME,
    }),
  })
  return { world: told, flush: () => exporter.flush() }
}

function sendSigned(aws: SignedFetch): ExporterOptions['send'] {
  return async (body, signal) => {
    const headers = { 'content-type': OTLP_TYPE }
    const request = {
      service: 'xray',
      path: PATH,
      body,
      headers,
      signal,
      attempts: 1,
    } as const
    await refuseUnlessTaken(await aws.send(request), 'CloudWatch')
  }
}
