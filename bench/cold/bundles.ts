import { copyFileSync, existsSync, mkdtempSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { buildSync } from 'esbuild'
import { EventSource } from '../../infra/overwinter.ts'
import { bundlesOf, runnerWith } from '../../test/infra/bundled.ts'
import { build } from '../../test/infra/synth.ts'

export const DYNAMODB_ONLY = 'Only the DynamoDB client'
export const RUNNER_ALONE = 'The runner, with the least that an entry can have'
export const DURABLE_SDK = 'AWS’s durable SDK'
/** The mapping that events go by. */
export const ORDERS = 'orders'

/** Gives a bundle by what it is: those of the construct's functions, with the examples, and those to compare them with. */
export function makeBundles(peers: string | undefined): (description: string) => string {
  const built = build(
    (inner) => ({
      lifecycleEvents: true,
      taskTypes: ['llm'],
      auth: { token: new Secret(inner, 'Token') },
      also: (overwinter) => overwinter.startOn(EventSource.queue(new Queue(inner, 'Orders')), ORDERS),
    }),
    {},
  )
  const bundleOf = bundlesOf(built)
  const others = new Map([
    [DYNAMODB_ONLY, bundled(join(import.meta.dirname, 'dynamodb-only.ts'))],
    [RUNNER_ALONE, runnerWith({ entry: join(import.meta.dirname, 'one-step.ts') })],
  ])
  if (peers !== undefined) others.set(DURABLE_SDK, bundled(besidePackagesOf(join(peers, 'lambda-durable'))))
  return (description) => others.get(description) ?? bundleOf(description)
}

/** As `infra/bundling.ts` has it done. */
function bundled(entry: string): string {
  const outfile = join(mkdtempSync(join(tmpdir(), 'overwinter-cold-')), 'index.mjs')
  buildSync({
    entryPoints: [entry],
    outfile,
    bundle: true,
    minify: true,
    sourcemap: true,
    sourcesContent: false,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    mainFields: ['module', 'main'],
    conditions: ['module'],
    logLevel: 'error',
  })
  return outfile
}

/** Whether AWS's durable SDK is installed there. */
export const hasDurableSdk = (peers: string): boolean => existsSync(join(peers, 'lambda-durable/node_modules'))

/** The peer's packages are found from the folder in which its workflow is. */
function besidePackagesOf(folder: string): string {
  const own = mkdtempSync(join(tmpdir(), 'overwinter-cold-'))
  symlinkSync(join(folder, 'node_modules'), join(own, 'node_modules'))
  copyFileSync(join(import.meta.dirname, 'durable-sdk.mjs'), join(own, 'durable-sdk.mjs'))
  return join(own, 'durable-sdk.mjs')
}
