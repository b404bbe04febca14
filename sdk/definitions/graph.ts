import type { Definition, Step } from './schema.ts'

/** A definition with its arrows drawn in. */
export interface Graph {
  /** Every step's name to the names of the steps before it. */
  parents: Map<string, string[]>
}

const listed = (after: Step['after']): string[] =>
  after === undefined ? [] : typeof after === 'string' ? [after] : after

export function graphOf({ steps }: Definition): Graph {
  const isSequence = steps.every((step) => step.after === undefined)
  const parents = new Map(
    steps.map((step, i) => [
      step.name,
      isSequence ? steps.slice(Math.max(0, i - 1), i).map(({ name }) => name) : listed(step.after),
    ]),
  )
  // What a branch decides about comes after it, said or unsaid.
  for (const step of steps) {
    if (step.type !== 'branch') continue
    for (const target of [...step.ifTrue, ...(step.ifFalse ?? [])]) {
      const before = parents.get(target)
      if (before && !before.includes(step.name)) before.push(step.name)
    }
  }
  return { parents }
}

/** The names on a cycle, in order, if there is one. */
export function findCycle({ parents }: Graph): string[] | undefined {
  const done = new Set<string>()
  for (const start of parents.keys()) {
    const cycle = walk(start, parents, done)
    if (cycle) return cycle
  }
  return undefined
}

/** Depth first and without recursion, since a chain may have a thousand steps. */
function walk(start: string, parents: Map<string, string[]>, done: Set<string>): string[] | undefined {
  const path: { name: string; next: number }[] = [{ name: start, next: 0 }]
  const onPath = new Set([start])
  while (path.length > 0) {
    const top = path.at(-1)!
    const parent = parents.get(top.name)?.[top.next++]
    if (parent === undefined || done.has(top.name)) {
      done.add(top.name)
      onPath.delete(top.name)
      path.pop()
    } else if (onPath.has(parent)) {
      const names = path.map(({ name }) => name)
      return [...names.slice(names.indexOf(parent)), parent]
    } else if (!done.has(parent) && parents.has(parent)) {
      path.push({ name: parent, next: 0 })
      onPath.add(parent)
    }
  }
  return undefined
}

/** Kahn's algorithm, linear in steps and arrows; steps on a cycle are left out. */
export function parentsFirst<T extends { name: string }>(
  steps: readonly T[],
  parentsOf: (step: T) => readonly string[],
): T[] {
  const children = new Map<string, T[]>()
  const open = new Map<string, number>()
  for (const step of steps) {
    const before = parentsOf(step)
    open.set(step.name, before.length)
    for (const parent of before) {
      const siblings = children.get(parent)
      if (siblings) siblings.push(step)
      else children.set(parent, [step])
    }
  }
  const ready = steps.filter((step) => open.get(step.name) === 0)
  for (const step of ready) {
    for (const child of children.get(step.name) ?? []) {
      const left = open.get(child.name)! - 1
      open.set(child.name, left)
      if (left === 0) ready.push(child)
    }
  }
  return ready
}

/** A step as it is drawn. */
export interface Node {
  name: string
  type: Step['type']
  after: string[]
}

export function nodesOf(definition: Definition): Node[] {
  const { parents } = graphOf(definition)
  return definition.steps.map(({ name, type }) => ({ name, type, after: parents.get(name)! }))
}
