import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'

/**
 * `MUTATION_SAMPLE=8 npm run mutate` changes every eighth function only, in a few minutes instead of hours. Which ones
 * is decided by a hash of file, name and source, so a run can be repeated. Without the variable nothing is left out.
 */
const every = Number(process.env.MUTATION_SAMPLE ?? 1)

function isLeftOut(path) {
  const isOutermost = path.isFunction() && !path.getFunctionParent()
  if (every <= 1 || !isOutermost) return undefined
  const { key, id, body } = path.node
  const text = `${path.hub?.file?.opts?.filename ?? ''} ${key?.name ?? id?.name ?? ''} ${body.end - body.start}`
  let hash = 2166136261
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619) >>> 0
  return hash % every === 0 ? undefined : 'not in the sample'
}

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, 'sample', { shouldIgnore: isLeftOut })]
