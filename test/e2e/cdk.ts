import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

export interface What {
  /** The file in test/e2e that makes the stack. */
  app: string
  stack: string
  /** What the file is told. */
  context?: Record<string, string>
}

/** Where the stand-in is, that the environment names. */
export function standInEndpoint(): string {
  const endpoint = process.env.AWS_ENDPOINT_URL
  if (!endpoint) throw new Error('start these tests with npm run test:aws, which starts the AWS stand-in')
  return endpoint
}

/** The file in which the outputs of a stack are kept, for as long as its stand-in lives. */
export function outputsFile(stack: string): string {
  const folder = join(ROOT, 'node_modules/.cache/overwinter-e2e', new URL(standInEndpoint()).port, stack)
  mkdirSync(folder, { recursive: true })
  return join(folder, 'outputs.json')
}

/** What a stack says of itself once it is deployed. */
export function outputsOf<T>(stack: string): T {
  // The stand-in calls itself localhost, and the SQS client frets over a queue whose host is not the endpoint's.
  const text = readFileSync(outputsFile(stack), 'utf8').replaceAll('http://localhost:', 'http://127.0.0.1:')
  return (JSON.parse(text) as Record<string, T>)[stack]!
}

export function deploy<T>({ app, stack, context = {} }: What): T {
  const told = Object.entries(context).flatMap(([name, value]) => ['--context', `${name}=${value}`])
  const cdk = (...args: string[]) => run([...args, ...told], app, join(outputsFile(stack), '../cdk.out'))
  cdk('bootstrap', `aws://000000000000/${process.env.AWS_REGION}`)
  cdk('deploy', stack, '--require-approval', 'never', '--outputs-file', outputsFile(stack))
  return outputsOf<T>(stack)
}

function run(args: string[], app: string, folder: string): void {
  const command = `node --conditions=overwinter-source test/e2e/${app}`
  const env = { ...process.env, AWS_ENDPOINT_URL_S3: standInEndpoint(), CDK_DISABLE_CLI_TELEMETRY: 'true', CI: 'true' }
  const started = performance.now()
  try {
    execFileSync(join(ROOT, 'node_modules/.bin/cdk'), [...args, '--no-notices', '--app', command, '--output', folder], {
      cwd: ROOT,
      env,
      stdio: 'pipe',
    })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: Buffer; stderr: Buffer }
    throw new Error(`cdk ${args[0]} failed:\n${stdout}\n${stderr}`)
  }
  console.info(`cdk ${args[0]}: ${((performance.now() - started) / 1000).toFixed(1)} s`)
}
