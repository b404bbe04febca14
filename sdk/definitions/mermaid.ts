import { type Node, nodesOf } from './graph.ts'
import type { Definition } from './schema.ts'
import { COLOURS, type Drawn } from './status-colours.ts'

/** For a README or a pull request: GitHub draws it. */
export function toMermaid(definition: Definition): string {
  return drawMermaid(nodesOf(definition))
}

/** Steps of a run get the colour of their state. */
export function drawMermaid(nodes: readonly Drawn[]): string {
  const ids = new Map(nodes.map(({ name }, i) => [name, `s${i}`]))
  const shapes = nodes.map((node) => {
    const [open, close] = node.type === 'branch' ? ['{', '}'] : ['[', ']']
    return `  ${ids.get(node.name)}${open}"${labelOf(node)}"${close}`
  })
  const arrows = nodes.flatMap(({ name, after }) => after.map((parent) => `  ${ids.get(parent)} --> ${ids.get(name)}`))
  const styles = nodes.flatMap(({ name, status }) =>
    status ? [`  style ${ids.get(name)} fill:${COLOURS[status].fill},stroke:${COLOURS[status].stroke}`] : [],
  )
  return ['flowchart TD', ...shapes, ...arrows, ...styles].join('\n')
}

function labelOf({ name, type, status }: Node & Pick<Drawn, 'status'>): string {
  const details = [...(type === 'task' ? [] : [type]), ...(status ? [status] : [])]
  return `${name.replaceAll('"', "'")}${details.length > 0 ? ` (${details.join(', ')})` : ''}`
}
