import { invalid } from '../errors.ts'
import type { BoundCondition, BoundOperand } from '../expressions/condition.ts'
import type { KeySchema } from '../expressions/key-condition.ts'
import type { PathElement } from '../expressions/syntax.ts'
import type { IndexSchema } from './schema.ts'

export function refuseFilterOnKeys(filter: BoundCondition, { partition, sort }: KeySchema): void {
  for (const name of namesIn(filter)) {
    if (name === partition || name === sort)
      throw invalid(`Filter Expression can only contain non-primary key attributes: Primary key attribute: ${name}`)
  }
}

/** An index cannot fetch from its table what it does not hold itself. */
export function refuseUnprojected(
  { name, attributes }: IndexSchema,
  select: string | undefined,
  filter: BoundCondition | undefined,
  projection: PathElement[][] | undefined,
): void {
  if (!attributes) return
  if (select === 'ALL_ATTRIBUTES') {
    throw invalid(
      `One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index ${name} because its projection type is not ALL`,
    )
  }
  const missing = (names: string[]) => [...new Set(names)].filter((one) => !attributes.has(one))
  const ofFilter = missing(filter ? namesIn(filter) : [])
  if (ofFilter.length > 0) {
    throw invalid(
      `One or more parameter values were invalid: Secondary index ${name} does not project one or more filter attributes: [${ofFilter.join(', ')}]`,
    )
  }
  const ofProjection = missing((projection ?? []).map((path) => path[0] as string))
  if (ofProjection.length > 0) {
    throw invalid(
      `One or more parameter values were invalid: Global secondary index ${name} does not project [${ofProjection.join(', ')}]`,
    )
  }
}

function namesIn(condition: BoundCondition): string[] {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return [...namesIn(condition.left), ...namesIn(condition.right)]
    case 'not':
      return namesIn(condition.of)
    case 'compare':
      return names(condition.left, condition.right)
    case 'between':
      return names(condition.of, condition.low, condition.high)
    case 'in':
      return names(condition.of, ...condition.list)
    case 'call':
      return names(...condition.operands)
  }
}

function names(...operands: BoundOperand[]): string[] {
  return operands.flatMap((operand) => {
    if (operand.kind === 'value') return []
    return operand.kind === 'size' ? names(operand.of) : [operand.path[0] as string]
  })
}
