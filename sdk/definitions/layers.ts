import type { Node } from './graph.ts'

/**
 * The steps in layers: each lies one below the lowest of those it comes after. Within a layer it stands near the middle
 * of them, which keeps most arrows from crossing.
 */
export function layersOf<N extends Node>(nodes: readonly N[]): N[][] {
  const byName = new Map(nodes.map((node) => [node.name, node]))
  const depths = new Map<string, number>()
  for (const node of parentsFirst(nodes, byName)) depths.set(node.name, Math.max(-1, ...node.after.map((parent) => depths.get(parent) ?? -1)) + 1)
  const layers: N[][] = []
  for (const node of nodes) (layers[depths.get(node.name)!] ??= []).push(node)
  const places = new Map<string, number>()
  return layers.map((layer) => {
    const middle = ({ after }: N) => after.reduce((sum, parent) => sum + places.get(parent)!, 0) / Math.max(1, after.length)
    const ordered = layer.map((node) => ({ node, at: middle(node) })).sort((a, b) => a.at - b.at)
    for (const [i, { node }] of ordered.entries()) places.set(node.name, (i + 0.5) / ordered.length)
    return ordered.map(({ node }) => node)
  })
}

/** Without recursion, since a chain may have a thousand links. */
function parentsFirst<N extends Node>(nodes: readonly N[], byName: Map<string, N>): N[] {
  const waitsFor = new Map(nodes.map(({ name, after }) => [name, after.filter((parent) => byName.has(parent)).length]))
  const children = new Map<string, N[]>()
  for (const node of nodes) {
    for (const parent of node.after) {
      const known = children.get(parent)
      if (known) known.push(node)
      else children.set(parent, [node])
    }
  }
  const ready = nodes.filter(({ name }) => waitsFor.get(name) === 0)
  for (const { name } of ready) {
    for (const child of children.get(name) ?? []) {
      const left = waitsFor.get(child.name)! - 1
      waitsFor.set(child.name, left)
      if (left === 0) ready.push(child)
    }
  }
  return ready
}
