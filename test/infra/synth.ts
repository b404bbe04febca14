import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { App, type AppProps, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import type { OverwinterProps } from '../../infra/options.ts'
import { Overwinter } from '../../infra/overwinter.ts'

export const ENTRY = join(import.meta.dirname, '../../workflows/index.ts')

/** Bundling takes seconds, and only the tests of the bundles look at its results. */
const UNBUNDLED = { 'aws:cdk:bundling-stacks': [] }

/** `also`: what is asked of the construct once it is there. */
export type Props = (stack: Stack) => Partial<OverwinterProps> & { also?: (overwinter: Overwinter) => void }

/** The construct in a stack of its own, not yet synthesised. */
export function build(
  props: Props = () => ({}),
  appProps: AppProps = { context: UNBUNDLED },
): { app: App; stack: Stack; overwinter: Overwinter } {
  const app = new App({ outdir: mkdtempSync(join(tmpdir(), 'overwinter-synth-')), ...appProps })
  const stack = new Stack(app, 'Test', { env: { account: '123456789012', region: 'eu-north-1' } })
  const { also, ...rest } = props(stack)
  const overwinter = new Overwinter(stack, 'Workflows', { entry: ENTRY, ...rest })
  also?.(overwinter)
  return { app, stack, overwinter }
}

export type Synthesised = ReturnType<typeof synthesise>

export function synthesise(props?: Props) {
  const built = build(props)
  return { ...built, template: Template.fromStack(built.stack) }
}
