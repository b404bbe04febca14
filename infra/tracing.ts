import type { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { OverwinterProps } from './options.ts'
import { allow } from './permissions.ts'

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']

/** Where spans of runs are sent: to CloudWatch, to the endpoint that the runner's variables name, or nowhere. */
export function tracingOf({ tracing, environment = {}, secrets = {} }: OverwinterProps): 'cloudwatch' | 'otlp' | 'no' {
  if (tracing === 'cloudwatch') return 'cloudwatch'
  return tracing !== false && ENDPOINTS.some((name) => name in environment || name in secrets) ? 'otlp' : 'no'
}

/** X-Ray has no resources that a policy could name. */
export function tracingMay(props: OverwinterProps): PolicyStatement[] {
  return tracingOf(props) === 'cloudwatch'
    ? [allow(['xray:PutTraceSegments', 'xray:PutSpans', 'xray:PutSpansForIndexing'], '*')]
    : []
}
