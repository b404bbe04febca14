import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { longRun } from '../tracing/long-run.ts'
import { installed } from './python-tool.ts'

const PYTHON = `
import json, sys
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
told = []
for line in sys.stdin:
    request = ExportTraceServiceRequest.FromString(bytes.fromhex(line.strip()))
    for of in request.resource_spans:
        service = {a.key: a.value.string_value for a in of.resource.attributes}
        for scope in of.scope_spans:
            for span in scope.spans:
                told.append({
                    'service': service['service.name'], 'scope': scope.scope.name, 'name': span.name, 'trace': span.trace_id.hex(), 'span': span.span_id.hex(),
                    'parent': span.parent_span_id.hex(), 'start': span.start_time_unix_nano, 'end': span.end_time_unix_nano,
                    'attributes': {a.key: a.value.string_value or a.value.int_value for a in span.attributes}})
print(json.dumps(told))
`

interface Told {
  service: string
  scope: string
  name: string
  trace: string
  span: string
  parent: string
  start: number
  end: number
  attributes: Record<string, string | number>
}

it("the traces of a run of 40 days over three killed processes are what OpenTelemetry's own classes read", async () => {
  const folder = installed('opentelemetry-proto', '1.45.2', ' or leave this test out')
  await using collector = await longRun()
  const input = collector.requests.map(({ body }) => `${body.toString('hex')}\n`).join('')
  const told = JSON.parse(
    execFileSync(join(folder, 'bin/python'), ['-c', PYTHON], { input, encoding: 'utf8' }),
  ) as Told[]
  expect(told).toHaveLength(13)
  const seen = new Set<string>()
  for (const { service, scope, name, trace, span, parent, start, end, attributes } of told) {
    expect([service, scope]).toEqual(['overwinter', 'overwinter'])
    expect(trace).toMatch(/^[0-9a-f]{32}$/)
    expect(span).toMatch(/^[0-9a-f]{16}$/)
    expect(seen.has(span), name).toBe(false)
    if (parent) expect(seen.has(parent), name).toBe(true)
    expect(end).toBeGreaterThanOrEqual(start)
    expect(attributes['overwinter.run_id']).toMatch(/^order-1/)
    seen.add(span)
  }
  expect(told.filter(({ parent }) => !parent).map(({ name }) => name)).toEqual(['order', 'shipping'])
})
