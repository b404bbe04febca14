import { LONG_WAIT_MS } from '../base/duration.ts'
import { InvalidInputError, type Problem } from '../base/errors.ts'
import { pathStep } from '../base/json.ts'
import { syntaxProblem } from '../jsonata/evaluate.ts'
import { templatesIn } from './expressions.ts'
import { findCycle, graphOf } from './graph.ts'
import { Definition, type Step } from './schema.ts'

/** What a definition may refer to; unknown parts are not checked. */
export interface Known {
  handlers?: ReadonlySet<string>
  workflows?: ReadonlySet<string>
  /** Why tasks of this type cannot be handed to workers; undefined when they can. */
  refusalOfTask?: (type: string) => string | undefined
}

/** Every problem with its JSON path; none for a definition that can be run. */
export function findProblems(json: unknown, known: Known): Problem[] {
  const parsed = Definition.safeParse(json)
  if (!parsed.success) {
    return parsed.error.issues.map((issue) => ({
      path: `$${issue.path.map((key) => pathStep(typeof key === 'symbol' ? String(key) : key)).join('')}`,
      message: issue.message,
    }))
  }
  const definition = parsed.data
  const shape = {
    names: new Set(definition.steps.map(({ name }) => name)),
    isSequence: definition.steps.every(({ after }) => after === undefined),
  }
  const problems = [
    ...duplicateNames(definition),
    ...definition.steps.flatMap((step, i) => stepProblems(step, `$.steps[${i}]`, shape, known)),
  ]
  if (problems.length > 0) return problems
  const cycle = findCycle(graphOf(definition))
  return cycle ? [{ path: '$.steps', message: `the steps wait for each other in a circle: ${cycle.join(' ← ')}` }] : []
}

/** `alsoWrong`: problems that the caller has found already. */
export function parseDefinition(json: unknown, known: Known, alsoWrong: readonly Problem[] = []): Definition {
  const problems = [...alsoWrong, ...findProblems(json, known)]
  if (problems.length > 0) throw new InvalidInputError('the definition is not valid', problems)
  return Definition.parse(json)
}

/** Definitions that are valid and probably not what the author meant. */
export function findWarnings(definition: Definition): Problem[] {
  const { steps } = definition
  const { parents } = graphOf(definition)
  const waitedFor = new Set([...parents.values()].flat())
  const isSequence = steps.every(({ after }) => after === undefined)
  return steps.flatMap((step, i) => {
    const warnings: Problem[] = []
    if (step.type === 'wait' && (step.durationMs ?? 0) > LONG_WAIT_MS)
      warnings.push({ path: `$.steps[${i}].durationMs`, message: 'is longer than 30 days' })
    if (step.type === 'wait' && steps.length > 1 && !waitedFor.has(step.name))
      warnings.push({
        path: `$.steps[${i}]`,
        message: 'nothing comes after this wait, so that it only delays the end; is an `after` missing elsewhere?',
      })
    if (!isSequence && i > 0 && parents.get(step.name)!.length === 0)
      warnings.push({
        path: `$.steps[${i}]`,
        message:
          'says nothing of what it comes after, while other steps do: it begins at once, with the first. If it ' +
          'is to follow, give it an `after`',
      })
    return warnings
  })
}

function duplicateNames({ steps }: Definition): Problem[] {
  const first = new Map<string, number>()
  return steps.flatMap(({ name }, i) => {
    const before = first.get(name)
    if (before === undefined) first.set(name, i)
    return before === undefined
      ? []
      : [{ path: `$.steps[${i}].name`, message: `'${name}' is the name of step ${before} already` }]
  })
}

interface Shape {
  names: ReadonlySet<string>
  /** No step has an `after`. */
  isSequence: boolean
}

function stepProblems(step: Step, path: string, { names, isSequence }: Shape, known: Known): Problem[] {
  const problems: Problem[] = []
  const refuse = (where: string, message: string) => problems.push({ path: `${path}${where}`, message })

  const after = typeof step.after === 'string' ? [step.after] : (step.after ?? [])
  for (const [i, parent] of after.entries()) {
    const where = typeof step.after === 'string' ? '.after' : `.after[${i}]`
    if (parent === step.name) refuse(where, 'a step cannot come after itself')
    else if (!names.has(parent)) refuse(where, `there is no step '${parent}'`)
  }
  switch (step.type) {
    case 'task':
      if ([step.handler, step.lambda, step.worker].filter((who) => who !== undefined).length !== 1)
        refuse('', "give one of 'handler', 'lambda' and 'worker'")
      for (const field of ['heartbeatTimeoutMs', 'maxIterations'] as const) {
        if (step[field] !== undefined && step.worker === undefined) refuse(`.${field}`, "goes with 'worker' only")
      }
      if (step.handler !== undefined) checkReference('handler', step.handler, known.handlers, refuse)
      if (step.worker !== undefined) {
        const refusal = known.refusalOfTask?.(step.worker)
        if (refusal !== undefined) refuse('.worker', refusal)
      }
      break
    case 'wait':
      if ((step.durationMs === undefined) === (step.untilTimestamp === undefined))
        refuse('', "give either 'durationMs' or 'untilTimestamp'")
      break
    case 'workflow':
      checkReference('workflow', step.workflow, known.workflows, refuse)
      break
    case 'map':
      checkReference('handler', step.handler, known.handlers, refuse)
      checkExpression(step.items, '.items', refuse)
      break
    case 'branch':
      checkExpression(step.condition, '.condition', refuse)
      if (isSequence) refuse('', "steps around a branch need 'after', to say what comes after what")
      for (const side of ['ifTrue', 'ifFalse'] as const) {
        for (const [i, target] of (step[side] ?? []).entries())
          if (!names.has(target)) refuse(`.${side}[${i}]`, `there is no step '${target}'`)
      }
      break
    case 'signal':
      break
  }
  if ('config' in step)
    for (const { where, expression } of templatesIn(step.config)) checkExpression(expression, `.config${where}`, refuse)
  return problems
}

type Refuse = (where: string, message: string) => void

function checkExpression(expression: string, where: string, refuse: Refuse): void {
  const problem = syntaxProblem(expression)
  if (problem !== undefined) refuse(where, problem)
}

function checkReference(
  what: 'handler' | 'workflow',
  name: string,
  known: ReadonlySet<string> | undefined,
  refuse: Refuse,
): void {
  if (known && !known.has(name))
    refuse(`.${what}`, `there is no ${what} '${name}'; known: ${[...known].join(', ') || 'none'}`)
}
