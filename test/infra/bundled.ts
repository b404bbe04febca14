import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { App, Duration, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { createFunction } from '../../infra/function.ts'
import type { OverwinterProps } from '../../infra/options.ts'
import type { build } from './synth.ts'

export const RUNNER = 'Takes due runs as far as they go'

const NAMES = ['TABLE', 'BUCKET', 'QUEUE_URL', 'QUEUE_ARN', 'SCHEDULER_GROUP', 'SCHEDULER_ROLE_ARN']

/** The variables without which no function starts. */
export const SETTINGS = {
  ...Object.fromEntries(NAMES.map((name) => [`OVERWINTER_${name}`, 'x'])),
  AWS_REGION: 'eu-north-1',
  POWERTOOLS_METRICS_NAMESPACE: 'x',
}

type Built = Pick<ReturnType<typeof build>, 'app' | 'stack'>

/** Bundles a stack of `build(…, {})`. Gives the bundle of each function, by the function's description. */
export function bundlesOf({ app, stack }: Built): (description: string) => string {
  const { directory } = app.synth()
  return (description) => {
    const [found] = Object.values(
      Template.fromStack(stack).findResources('AWS::Lambda::Function', { Properties: { Description: description } }),
    )
    return join(directory, `asset.${(found!.Properties.Code.S3Key as string).replace('.zip', '')}`, 'index.mjs')
  }
}

/** The runner's bundle alone, made as the construct makes it. */
export function runnerWith(props: OverwinterProps): string {
  const app = new App({ outdir: mkdtempSync(join(tmpdir(), 'overwinter-synth-')) })
  const stack = new Stack(app, 'Test')
  createFunction(
    stack,
    'Runner',
    {
      handler: 'runner',
      description: RUNNER,
      memory: 512,
      timeout: Duration.minutes(5),
      environment: {},
      may: [],
      loadsEntry: true,
    },
    props,
  )
  return bundlesOf({ app, stack })(RUNNER)
}
