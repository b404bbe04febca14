import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { spansOf } from '../../docs/picture/ansi.ts'
import { drawing } from '../../docs/picture/draw.ts'

const root = new URL('../..', import.meta.url).pathname
const file = join(root, 'docs/resume.svg')

describe('the picture in README', () => {
  const svg = readFileSync(file, 'utf8')

  it('is a recording of the demo, from the first process to the last word', () => {
    expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('](docs/resume.svg)')
    const text = svg.replaceAll(/<[^>]*>/g, '')
    expect(text).toMatch(
      /process \d+ is up[\s\S]*was killed \(SIGKILL\)[\s\S]*process \d+ is up[\s\S]*completed[\s\S]*Everything happened once/,
    )
  })

  it('is small, says nothing of the machine that recorded it, and keeps still for those who want that', () => {
    expect(statSync(file).size).toBeLessThan(60_000)
    expect(svg).not.toMatch(/\/(home|Users|root|tmp|work|var)\b|node_modules/)
    expect(svg).toMatch(/@media \(prefers-reduced-motion: no-preference\) \{[^<]*@keyframes/)
    expect(svg.slice(0, svg.indexOf('@media'))).not.toContain('animation')
  })
})

describe('drawing what a terminal showed', () => {
  it('knows its colours, and refuses what it does not know', () => {
    expect(spansOf('a \u001b[31m\u001b[1mb\u001b[22m\u001b[39m c')).toEqual([
      { text: 'a ', styles: [] },
      { text: 'b', styles: ['red', 'bold'] },
      { text: ' c', styles: [] },
    ])
    expect(() => spansOf('\u001b[2J')).toThrow('does not know')
  })

  it('lets each line appear when it was said', () => {
    const svg = drawing(
      [
        { at: 0, text: 'a < b' },
        { at: 2_000, text: '\u001b[32m&\u001b[39m' },
      ],
      'two lines',
    )
    expect(svg).toContain('>a &lt; b</tspan>')
    expect(svg).toContain('class="green">&amp;</tspan>')
    expect(svg).toContain('@keyframes at1 { 0% { opacity: 0 } 25.00%, 100% { opacity: 1 } }')
    expect(svg).toContain('.at1 { animation: at1 8.0s step-end infinite }')
  })
})
