import { extname, join, resolve } from 'node:path'
import { type BundlingOptions, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs'
import type { Bundling, OverwinterProps } from './options.ts'
import { tracingOf } from './tracing.ts'

/**
 * The package bundles its built files: it has no sources, and two copies of the library would not recognise
 * each other's errors.
 */
const ENDING = extname(import.meta.filename)
const isFromSource = ENDING === '.ts'

/** A file in functions/, by its name. */
export const functionFile = (name: string): string => join(import.meta.dirname, `../functions/${name}${ENDING}`)

/** Packages in CommonJS ask for Node's own modules with `require`, which an ES module has not. */
const WITH_REQUIRE =
  `import { createRequire as overwinterRequire } from 'node:module'; ` +
  `globalThis.require ??= overwinterRequire(import.meta.url);`

const OURS: BundlingOptions = {
  format: OutputFormat.ESM,
  target: 'node24',
  minify: true,
  sourceMap: true,
  sourcesContent: false,
  // Some packages have a CommonJS build that an ESM bundle cannot load.
  mainFields: ['module', 'main'],
  // Lambda's own version of the AWS SDK changes without notice, and starts more slowly.
  bundleAwsSDK: true,
  esbuildArgs: {
    // `module` would be lost if it were not named.
    '--conditions': `module${isFromSource ? ',overwinter-source' : ''}`,
  },
}

/**
 * The output is several files: `index.mjs` has what every start needs, and what is loaded with `import()` is
 * beside it. A single file would be read as a whole at every start, the clients and credentials that a start does
 * not need as well: that is twice as long (docs/benchmarks.md). CDK gives esbuild the name of one file, which is
 * taken back here, and says where the output goes to hooks alone. It calls this one before it reads the arguments.
 */
function inSeveralFiles(options: BundlingOptions): BundlingOptions {
  const esbuildArgs: NonNullable<BundlingOptions['esbuildArgs']> = {
    ...options.esbuildArgs,
    '--outfile=': true,
    '--splitting': true,
    '--entry-names': 'index',
    '--out-extension:.js': '.mjs',
  }
  const theirs = options.commandHooks
  const commandHooks: BundlingOptions['commandHooks'] = {
    beforeBundling(inputDir, outputDir) {
      esbuildArgs['--outdir'] = outputDir
      return theirs?.beforeBundling(inputDir, outputDir) ?? []
    },
    beforeInstall: (inputDir, outputDir) => theirs?.beforeInstall(inputDir, outputDir) ?? [],
    afterBundling: (inputDir, outputDir) => theirs?.afterBundling(inputDir, outputDir) ?? [],
  }
  return { ...options, esbuildArgs, commandHooks }
}

const codecAlias = ({ codec }: OverwinterProps): Record<string, string> => ({
  '--alias:overwinter-coding': functionFile(codec === undefined ? 'no-codec' : 'user-codec'),
  ...(codec !== undefined && { '--alias:overwinter-codec': resolve(codec) }),
})

const tracingAlias = (props: OverwinterProps): Record<string, string> => ({
  '--alias:overwinter-tracing': functionFile(`${tracingOf(props)}-tracing`),
})

/** Of a function that holds nothing of the user's, but for the codec. */
export const withoutEntry = (props: OverwinterProps): BundlingOptions =>
  inSeveralFiles({
    ...OURS,
    ...(props.codec !== undefined && { banner: WITH_REQUIRE }),
    esbuildArgs: { ...OURS.esbuildArgs, ...codecAlias(props) },
  })

/** For a function that loads the entry: the user's options, as far as they do not break the function. */
export function withEntry(props: OverwinterProps): BundlingOptions {
  const { entry, bundling = {} } = props
  refuseWhatBreaks(bundling)
  const { esbuildArgs, banner, ...wishes } = bundling
  return inSeveralFiles({
    ...OURS,
    ...wishes,
    banner: banner ? `${WITH_REQUIRE}${banner}` : WITH_REQUIRE,
    esbuildArgs: {
      ...esbuildArgs,
      ...OURS.esbuildArgs,
      ...withConditions(esbuildArgs),
      ...codecAlias(props),
      ...tracingAlias(props),
      '--alias:overwinter-workflows': resolve(entry),
    },
  })
}

const FIXED = ['format', 'bundleAwsSDK', 'assetHash'] satisfies (keyof BundlingOptions)[]
const CONDITIONS = '--conditions'
const FIXED_ARGS =
  /^--(bundle|format|platform|out(file|dir|-extension.*)|(entry|chunk)-names|splitting|packages|alias:(overwinter-workflows|overwinter-cod(ec|ing)|overwinter-tracing).*)$/

const NEEDED = /^(@aws-sdk|@smithy|overwinter)\b|^\*/
/** Lambda has the SDK's clients. The functions bundle the one for DynamoDB, and the code that all clients share. */
const IN_THE_RUNTIME = /^@aws-sdk\/client-(?!dynamodb\b)[\w-]+$/

function refuseWhatBreaks(bundling: Bundling & BundlingOptions): void {
  const fixed = FIXED.find((option) => bundling[option] !== undefined)
  if (fixed)
    throw new Error(
      `bundling.${fixed} cannot be given: the functions are ES modules with an AWS SDK of their own, and ` +
        'depend on how they are bundled. Leave it out',
    )
  const argument = Object.keys(bundling.esbuildArgs ?? {}).find((name) => FIXED_ARGS.test(name))
  if (argument)
    throw new Error(`bundling.esbuildArgs['${argument}'] cannot be given: the functions depend on it. Leave it out`)
  const external = bundling.externalModules?.find((name) => NEEDED.test(name) && !IN_THE_RUNTIME.test(name))
  if (external)
    throw new Error(
      `bundling.externalModules cannot have '${external}': the functions would not find it when they start. ` +
        'Leave it out',
    )
}

/** The user's conditions together with ours, which would otherwise be lost. */
function withConditions(esbuildArgs: BundlingOptions['esbuildArgs']): BundlingOptions['esbuildArgs'] {
  const theirs = esbuildArgs?.[CONDITIONS]
  return theirs ? { [CONDITIONS]: `${OURS.esbuildArgs![CONDITIONS]},${theirs}` } : {}
}
