import { mkdir, writeFile } from 'node:fs/promises'
import { defineConfig } from 'tsdown'
import { bundle } from './dashboard/bundle.ts'

const LIBRARY = [
  'sdk/index.ts',
  'sdk/local.ts',
  'sdk/testing/index.ts',
  'sdk/testing/vitest.ts',
  'sdk/definitions/index.ts',
  'sdk/events/index.ts',
  'sdk/worker/index.ts',
  'sdk/http-client/index.ts',
  'sdk/http-client/sigv4.ts',
  'infra/overwinter.ts',
]

/** dist/ mirrors the sources, one file each: stack traces stay readable, and files find each other as they do here. */
export default defineConfig({
  entry: [
    ...LIBRARY,
    'cli/main.ts',
    // Processes of their own.
    'cli/dev/server.ts',
    'infra/declared-tasks.ts',
    // The Lambda functions, which the construct bundles with the user's workflows.
    'functions/{api,authorizer,callbacks,dead-letters,events,lifecycle,runner,schedules,sweeper,workers}.ts',
    'functions/{no-codec,user-codec,no-tracing,otlp-tracing,cloudwatch-tracing}.ts',
  ],
  deps: {
    neverBundle: ['overwinter-workflows', 'overwinter-codec', 'overwinter-coding', 'overwinter-tracing'],
  },
  unbundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  dts: { entry: LIBRARY },
  fixedExtension: false,
  onSuccess: writeDashboard,
})

/** Where `dashboard/files.ts` of the package looks for it. */
async function writeDashboard(): Promise<void> {
  const folder = new URL('dist/dashboard/page/', import.meta.url)
  await mkdir(folder, { recursive: true })
  for (const [name, { body }] of await bundle()) await writeFile(new URL(name, folder), body)
}
