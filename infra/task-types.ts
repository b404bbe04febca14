import { spawnSync } from 'node:child_process'
import { extname, join, resolve } from 'node:path'
import { Annotations, Stack } from 'aws-cdk-lib'
import type { Construct } from 'constructs'
import type { DeclaredTasks } from './declared-tasks.ts'
import type { OverwinterProps } from './options.ts'
import { bystanderVariables } from './variables.ts'

const ENDING = extname(import.meta.filename)
const LONGEST_MS = 60_000

/**
 * Refuses workflows that declare tasks without a queue, before a deployment. Runs where the entry is bundled,
 * and only there: `cdk ls` needs neither. An undeclared type, or an entry that Node cannot load without
 * bundling, is found when it runs.
 */
export function checkTaskTypes(scope: Construct, props: OverwinterProps): void {
  if (!Stack.of(scope).bundlingRequired) return
  const declared = declaredIn(scope, props)
  const missing = declared.flatMap(({ workflow, tasks }) =>
    tasks.filter((type) => !props.taskTypes?.includes(type)).map((type) => ({ workflow, type })),
  )
  if (missing.length === 0) return
  const named = missing.map(({ workflow, type }) => `'${type}' (workflow '${workflow}')`).join(', ')
  const all = JSON.stringify([...new Set([...(props.taskTypes ?? []), ...missing.map(({ type }) => type)])])
  throw new Error(
    `there is no queue for tasks that workflows hand out: ${named}. Add them to the construct: taskTypes: ${all}`,
  )
}

function declaredIn(scope: Construct, props: OverwinterProps): DeclaredTasks[] {
  const conditions = ENDING === '.ts' ? ['--conditions=overwinter-source'] : []
  const child = spawnSync(
    process.execPath,
    [...conditions, join(import.meta.dirname, `declared-tasks${ENDING}`), resolve(props.entry)],
    {
      // The variables of functions that load the entry and run no step.
      env: { ...process.env, ...bystanderVariables(props) },
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      timeout: LONGEST_MS,
      encoding: 'utf8',
    },
  )
  if (child.status === 0) return JSON.parse(child.output[3]!) as DeclaredTasks[]
  const why = child.stderr?.match(/^\w*Error.*$/m)?.[0] ?? child.error?.message ?? `exit code ${child.status}`
  Annotations.of(scope).addInfoV2(
    'overwinter:taskTypes',
    `Node could not load ${props.entry} as it is (${why}), so the tasks that its workflows declare were not ` +
      'compared with taskTypes',
  )
  return []
}
