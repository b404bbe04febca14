import { CharacterSet, costOfCase } from './character-set.ts'
import { type Node, parseRegex } from './syntax.ts'

export type Instruction =
  | { kind: 'set'; characters: CharacterSet }
  | { kind: 'assertion'; what: 'start' | 'end' | 'word' | 'not word' }
  /** Continues at both, and prefers the first. */
  | { kind: 'split'; first: number; second: number }
  | { kind: 'jump'; to: number }
  /** Stores the position. */
  | { kind: 'save'; slot: number }
  | { kind: 'forget'; from: number; to: number }
  /** Begins an iteration, which must consume something before its `end`: an empty iteration does not count. */
  | { kind: 'turn' }
  | { kind: 'end' }
  | { kind: 'match' }

export interface Program {
  instructions: Instruction[]
  groups: number
  isMultiline: boolean
}

/** The work for one character grows with it. */
const MOST_INSTRUCTIONS = 2_000

/** Throws an error that names what is not supported. */
export function compileRegex({ source, ignoreCase, multiline }: RegExp): Program {
  const { root, groups } = parseRegex(source)
  const instructions: Instruction[] = []
  let size = 0

  /** `weight`: for a node without instructions, so that repeating an empty node many times is bounded too. */
  const grow = (weight: number): void => {
    size += weight
    if (size > MOST_INSTRUCTIONS)
      throw new Error(
        `it is too large: written out, with every repetition, it has more than ${MOST_INSTRUCTIONS} parts`,
      )
  }
  const put = <I extends Instruction>(instruction: I): I => {
    instructions.push(instruction)
    return instruction
  }
  const here = (): number => instructions.length

  /** A repeated set is shared. */
  const sets = new Map<Node, CharacterSet>()
  const charactersOf = (node: Extract<Node, { kind: 'set' }>): CharacterSet => {
    const characters = sets.get(node) ?? new CharacterSet(node.ranges, node.isNegated ?? false, ignoreCase)
    sets.set(node, characters)
    return characters
  }

  const emit = (node: Node): void => {
    grow(node.kind === 'set' ? node.ranges.length + (ignoreCase ? costOfCase(node.ranges) : 0) : 1)
    switch (node.kind) {
      case 'empty':
        return
      case 'set':
        put({ kind: 'set', characters: charactersOf(node) })
        return
      case 'assertion':
        put(node)
        return
      case 'sequence':
        for (const part of node.parts) emit(part)
        return
      case 'group':
        put({ kind: 'save', slot: 2 * node.index })
        emit(node.body)
        put({ kind: 'save', slot: 2 * node.index + 1 })
        return
      case 'choice':
        return emitChoice(node.parts)
      case 'repeat':
        return emitRepeat(node)
    }
  }

  const emitChoice = (parts: Node[]): void => {
    const ends: { to: number }[] = []
    for (const [i, part] of parts.entries()) {
      if (i === parts.length - 1) emit(part)
      else {
        const split = put({ kind: 'split', first: here() + 1, second: 0 })
        emit(part)
        ends.push(put({ kind: 'jump', to: 0 }))
        split.second = here()
      }
    }
    for (const end of ends) end.to = here()
  }

  const emitRepeat = (node: Extract<Node, { kind: 'repeat' }>): void => {
    const { body, min, max, isLazy, first, last } = node
    const takesNothing = canBeEmpty(body)
    const turn = (mayBeEmpty: boolean): void => {
      if (last >= first) put({ kind: 'forget', from: 2 * first, to: 2 * last + 1 })
      const isChecked = takesNothing && !mayBeEmpty
      if (isChecked) put({ kind: 'turn' })
      emit(body)
      if (isChecked) put({ kind: 'end' })
    }
    /** Another iteration or an exit, in the order of preference. */
    const maybe = (): { leave: (to: number) => void } => {
      const split = put({ kind: 'split', first: here() + 1, second: here() + 1 })
      return {
        leave: (to) => {
          if (isLazy) split.first = to
          else split.second = to
        },
      }
    }
    for (let i = 0; i < min; i++) turn(true)
    if (max === Number.POSITIVE_INFINITY) {
      const start = here()
      const choice = maybe()
      turn(false)
      put({ kind: 'jump', to: start })
      choice.leave(here())
      return
    }
    const choices: ReturnType<typeof maybe>[] = []
    for (let i = min; i < max; i++) {
      choices.push(maybe())
      turn(false)
    }
    for (const choice of choices) choice.leave(here())
  }

  put({ kind: 'save', slot: 0 })
  emit(root)
  put({ kind: 'save', slot: 1 })
  put({ kind: 'match' })
  return { instructions, groups, isMultiline: multiline }
}

function canBeEmpty(node: Node): boolean {
  switch (node.kind) {
    case 'empty':
    case 'assertion':
      return true
    case 'set':
      return false
    case 'sequence':
      return node.parts.every(canBeEmpty)
    case 'choice':
      return node.parts.some(canBeEmpty)
    case 'repeat':
      return node.min === 0 || canBeEmpty(node.body)
    case 'group':
      return canBeEmpty(node.body)
  }
}
