import { describe, expect, it } from 'vitest'
import { define, handler, toSvg } from '../../sdk/definitions/index.ts'
import { layersOf } from '../../sdk/definitions/layers.ts'
import { drawMermaid } from '../../sdk/definitions/mermaid.ts'
import { drawSvg } from '../../sdk/definitions/svg.ts'

const node = (name: string, ...after: string[]) => ({ name, type: 'task' as const, after })

describe('a drawing', () => {
  it('puts every step below all those before it, near the middle of them', () => {
    const names = layersOf([
      node('end', 'c', 'b'),
      node('a'),
      node('b', 'a'),
      node('z'),
      node('c', 'z'),
      node('far', 'a'),
    ]).map((layer) => layer.map(({ name }) => name))
    expect(names).toEqual([['a', 'z'], ['b', 'far', 'c'], ['end']])
  })

  it('as SVG has a box for each step and an arrow for each dependency, none on top of another', () => {
    const steps = [0, 1, 2, 3, 4, 5].map((i) => ({
      type: 'task',
      name: `s${i}`,
      handler: 'h',
      after: i === 0 ? [] : [`s${Math.floor((i - 1) / 2)}`],
    }))
    const svg = toSvg(define({ name: 'tree', steps }, { handlers: [handler('h', () => 1)] }).definition)
    const corners = [...svg.matchAll(/<rect x="([\d.]+)" y="([\d.]+)" width="190" height="46"/g)].map(
      ([, x, y]) => [Number(x), Number(y)] as const,
    )
    expect(corners).toHaveLength(6)
    for (const [i, [x, y]] of corners.entries()) {
      for (const [otherX, otherY] of corners.slice(i + 1))
        expect(Math.abs(x - otherX) >= 190 || Math.abs(y - otherY) >= 46).toBe(true)
    }
    expect(svg.match(/marker-end/g)).toHaveLength(5)
  })

  it('escapes what names may contain', () => {
    expect(drawSvg([node('<script>"&\'')])).toContain('<title>&lt;script&gt;&quot;&amp;&#39;</title>')
    expect(drawMermaid([node('say "hi"')])).toContain('s0["say \'hi\'"]')
  })

  it('of a chain of a thousand steps is no trouble', () => {
    const chain = Array.from({ length: 1_000 }, (_, i) => (i === 0 ? node('n0') : node(`n${i}`, `n${i - 1}`)))
    expect(layersOf(chain.toReversed())).toHaveLength(1_000)
    expect(drawSvg(chain).match(/<rect/g)).toHaveLength(1_000)
  })
})
