import { defineConfig, type Rolldown } from 'tsdown'

const LIBRARY = [
  'sdk/index.ts',
  'sdk/local.ts',
  'sdk/testing/index.ts',
  'sdk/definitions/index.ts',
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
    // A process of its own.
    'cli/dev/server.ts',
    // The Lambda functions, which the construct bundles with the user's workflows.
    'functions/{api,authorizer,dead-letters,lambda-credentials,lifecycle,runner,schedules,sweeper,workers}.ts',
  ],
  deps: { neverBundle: ['overwinter-workflows'] },
  plugins: [bundleFromDist()],
  unbundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  dts: { entry: LIBRARY },
  fixedExtension: false,
})

/**
 * In the package the construct must bundle the built files: the sources are not there, and two copies of the library
 * would not know each other's errors.
 */
function bundleFromDist(): Rolldown.Plugin {
  const replaced: [before: string, after: string][] = [
    ['props.handler}.ts`', 'props.handler}.js`'],
    ["lambda-credentials.ts'", "lambda-credentials.js'"],
    ["'overwinter-source,module'", "'module'"],
  ]
  return {
    name: 'bundle-from-dist',
    transform: {
      filter: { id: /\/infra\/function\.ts$/ },
      handler(code) {
        const missing = replaced.find(([before]) => !code.includes(before))
        if (missing) this.error(`infra/function.ts no longer says ${missing[0]}; look at tsdown.config.ts`)
        return replaced.reduce((text, [before, after]) => text.replace(before, after), code)
      },
    },
  }
}
