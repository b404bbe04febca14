import { type Node, parentsFirst } from './graph.ts'

/**
 * The steps in layers: each lies one below the lowest of those it comes after. Within a layer it stands near the middle
 * of them, which keeps most arrows from crossing.
 */
export function layersOf<N extends Pick<Node, 'name' | 'after'>>(nodes: readonly N[]): N[][] {
  const depths = new Map<string, number>()
  for (const { name, after } of parentsFirst(nodes, (node) => node.after))
    depths.set(name, Math.max(-1, ...after.map((parent) => depths.get(parent)!)) + 1)
  const layers: N[][] = []
  for (const node of nodes) (layers[depths.get(node.name)!] ??= []).push(node)
  const places = new Map<string, number>()
  return layers.map((layer) => {
    const middle = ({ after }: N) =>
      after.reduce((sum, parent) => sum + places.get(parent)!, 0) / Math.max(1, after.length)
    const ordered = layer.map((node) => ({ node, at: middle(node) })).sort((a, b) => a.at - b.at)
    for (const [i, { node }] of ordered.entries()) places.set(node.name, (i + 0.5) / ordered.length)
    return ordered.map(({ node }) => node)
  })
}
