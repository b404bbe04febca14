import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { invalid } from '../errors.ts'
import type { Attributes } from '../values/attribute-value.ts'
import { valueAt } from './paths.ts'
import type { PathElement } from './syntax.ts'

/**
 * Changes a copy of an item. Stored items never change, so only what lies on the way to a nested change is copied.
 * Indexes count in the list as it was: what is put behind its end comes in order, what is removed goes last.
 */
export class Editor {
  private readonly item: Attributes
  private readonly edited: Attributes
  private readonly copied = new Set<string>()
  private readonly appended: { list: AttributeValue[]; index: number; value: AttributeValue }[] = []
  private readonly removed: { list: AttributeValue[]; index: number }[] = []

  constructor(item: Attributes) {
    this.item = item
    this.edited = { ...item }
  }

  /** Whatever a path leads to need not be there, but what it is in must be. */
  check(path: readonly PathElement[]): void {
    if (path.length === 1) return
    const parent = valueAt(this.item, path.slice(0, -1))
    if (typeof path.at(-1) === 'number' ? parent?.L : parent?.M) return
    throw invalid('The document path provided in the update expression is invalid for update')
  }

  set(path: readonly PathElement[], value: AttributeValue): void {
    const last = path.at(-1)!
    if (path.length === 1) {
      this.edited[last as string] = value
      return
    }
    const parent = this.parentOf(path)
    if (typeof last === 'string') parent.M![last] = value
    else if (last < parent.L!.length) parent.L![last] = value
    else this.appended.push({ list: parent.L!, index: last, value })
  }

  remove(path: readonly PathElement[]): void {
    const last = path.at(-1)!
    if (path.length === 1) {
      delete this.edited[last as string]
      return
    }
    const parent = this.parentOf(path)
    if (typeof last === 'string') delete parent.M![last]
    else if (last < parent.L!.length) this.removed.push({ list: parent.L!, index: last })
  }

  result(): Attributes {
    this.appended.sort((a, b) => a.index - b.index)
    this.removed.sort((a, b) => b.index - a.index)
    for (const { list, value } of this.appended) list.push(value)
    for (const { list, index } of this.removed) list.splice(index, 1)
    return this.edited
  }

  /** The container that the path ends in, in a copy of the attribute that may be changed. */
  private parentOf(path: readonly PathElement[]): AttributeValue {
    const name = path[0] as string
    if (!this.copied.has(name)) {
      this.copied.add(name)
      this.edited[name] = copyOf(this.edited[name]!)
    }
    return valueAt(this.edited, path.slice(0, -1))!
  }
}

function copyOf(value: AttributeValue): AttributeValue {
  if (value.L) return { L: value.L.map(copyOf) }
  if (value.M) return { M: Object.fromEntries(Object.entries(value.M).map(([name, member]) => [name, copyOf(member)])) }
  return value
}
