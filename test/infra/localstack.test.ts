import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const VERSION = '4.14.0'
const ROOT = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const PROVIDED = read(`test/infra/localstack-${VERSION}.txt`)
  .split('\n')
  .filter((line) => line.startsWith('AWS::'))

/** The types of resources in the stack that the end-to-end tests deploy. */
function typesIn(context: Record<string, unknown>): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-localstack-'))
  const env = {
    ...process.env,
    CDK_OUTDIR: folder,
    CDK_CONTEXT_JSON: JSON.stringify({ ...context, 'aws:cdk:bundling-stacks': [] }),
  }
  execFileSync(process.execPath, ['--conditions=overwinter-source', 'test/e2e/app.ts'], {
    cwd: ROOT,
    env,
    stdio: 'pipe',
  })
  const { Resources } = JSON.parse(readFileSync(join(folder, 'OverwinterE2e.template.json'), 'utf8')) as {
    Resources: Record<string, { Type: string }>
  }
  return [...new Set(Object.values(Resources).map(({ Type }) => Type))]
}

describe(`LocalStack ${VERSION}, the last that needs no account`, () => {
  it('provides every resource of the stack that the tests deploy there', () => {
    const types = typesIn({ api: 'rest' })
    expect(types).toContain('AWS::ApiGateway::RestApi')
    expect(types.filter((type) => !PROVIDED.includes(type))).toEqual([])
  })

  it('does not provide an HTTP API, which is why', () => {
    const missing = typesIn({}).filter((type) => !PROVIDED.includes(type))
    expect(missing.length).toBeGreaterThan(0)
    for (const type of missing) expect(type).toMatch(/^AWS::ApiGatewayV2::/)
  })

  it.each(['compose.yaml', '.github/workflows/ci.yml'])(
    'is what %s starts, in a way that works without a name server',
    (file) => {
      expect([...read(file).matchAll(/localstack\/localstack:(\S+)/g)].map(([, version]) => version)).toEqual([VERSION])
      expect(read(file)).toMatch(/SQS_ENDPOINT_STRATEGY: dynamic/)
    },
  )
})
