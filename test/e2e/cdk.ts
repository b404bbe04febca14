import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** What belongs to the stand-in that is there now. */
export function cacheFolder(endpoint: string): string {
  const folder = join(ROOT, 'node_modules/.cache/overwinter-e2e', new URL(endpoint).port)
  mkdirSync(folder, { recursive: true })
  return folder
}

/** `app`: a file in test/e2e. `output`: where the cloud assembly goes. */
export function cdk(app: string, output: string, args: string[], variables: Record<string, string> = {}): void {
  const endpoint = process.env.AWS_ENDPOINT_URL!
  const env = { ...process.env, AWS_ENDPOINT_URL_S3: endpoint, CDK_DISABLE_CLI_TELEMETRY: 'true', CI: 'true', ...variables }
  const started = performance.now()
  try {
    const run = `node --conditions=overwinter-source test/e2e/${app}`
    execFileSync(join(ROOT, 'node_modules/.bin/cdk'), [...args, '--no-notices', '--app', run, '--output', output], { cwd: ROOT, env, stdio: 'pipe' })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: Buffer; stderr: Buffer }
    throw new Error(`cdk ${args[0]} failed:\n${stdout}\n${stderr}`)
  }
  console.info(`cdk ${args[0]}: ${((performance.now() - started) / 1000).toFixed(1)} s`)
}

export function bootstrap(app: string, output: string): void {
  cdk(app, output, ['bootstrap', `aws://000000000000/${process.env.AWS_REGION}`])
}
