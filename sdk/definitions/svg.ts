import { nodesOf } from './graph.ts'
import { layersOf } from './layers.ts'
import type { Definition } from './schema.ts'
import { COLOURS, type Drawn, PLAIN } from './status-colours.ts'

const BOX = { width: 190, height: 46 }
const GAP = { x: 28, y: 44 }
const MARGIN = 16
const LONGEST_LABEL = 24

export function toSvg(definition: Definition): string {
  return drawSvg(nodesOf(definition))
}

/** A picture that needs nothing but a browser. The state of a step is in words as well as in colour. */
export function drawSvg(nodes: readonly Drawn[]): string {
  const layers = layersOf(nodes)
  const widest = Math.max(1, ...layers.map((layer) => layer.length))
  const size = {
    x: widest * (BOX.width + GAP.x) - GAP.x + 2 * MARGIN,
    y: layers.length * (BOX.height + GAP.y) - GAP.y + 2 * MARGIN,
  }
  const corners = new Map<string, { x: number; y: number }>()
  for (const [row, layer] of layers.entries()) {
    const left = (size.x - (layer.length * (BOX.width + GAP.x) - GAP.x)) / 2
    for (const [column, { name }] of layer.entries())
      corners.set(name, { x: left + column * (BOX.width + GAP.x), y: MARGIN + row * (BOX.height + GAP.y) })
  }
  const arrows = nodes.flatMap(({ name, after }) =>
    after.map((parent) => arrow(corners.get(parent)!, corners.get(name)!)),
  )
  const boxes = nodes.map((node) => box(node, corners.get(node.name)!))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.x} ${size.y}" width="${size.x}" ` +
      `height="${size.y}" font-family="system-ui, sans-serif" font-size="13">`,
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" ' +
      'orient="auto"><path d="M0 0 8 4 0 8z" fill="#57606a"/></marker></defs>',
    ...arrows,
    ...boxes,
    '</svg>',
  ].join('\n')
}

function box({ name, type, status }: Drawn, { x, y }: { x: number; y: number }): string {
  const { fill, stroke } = status ? COLOURS[status] : PLAIN
  const middle = x + BOX.width / 2
  const round = type === 'task' || type === 'workflow' ? 4 : BOX.height / 2
  const said = [type, ...(status ? [status] : [])].join(' · ')
  return [
    `<g><title>${escapeXml(name)}</title>`,
    `<rect x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="${round}" fill="${fill}" ` +
      `stroke="${stroke}"/>`,
    `<text x="${middle}" y="${y + 20}" text-anchor="middle" fill="#1f2328">${escapeXml(shortened(name))}</text>`,
    `<text x="${middle}" y="${y + 36}" text-anchor="middle" fill="#57606a" font-size="10">${said}</text></g>`,
  ].join('')
}

function arrow(from: { x: number; y: number }, to: { x: number; y: number }): string {
  const [startX, startY, endX, endY] = [from.x + BOX.width / 2, from.y + BOX.height, to.x + BOX.width / 2, to.y]
  const bend = (endY - startY) / 2
  return (
    `<path d="M${startX} ${startY}C${startX} ${startY + bend} ${endX} ${endY - bend} ${endX} ${endY}" ` +
    'fill="none" stroke="#57606a" marker-end="url(#tip)"/>'
  )
}

function shortened(name: string): string {
  const characters = [...name]
  return characters.length <= LONGEST_LABEL ? name : `${characters.slice(0, LONGEST_LABEL - 1).join('')}…`
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escapeXml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)
