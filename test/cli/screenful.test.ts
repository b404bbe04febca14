import { expect, test } from 'vitest'
import { banner } from '../../cli/dev/banner.ts'
import { screenful } from '../../cli/screenful.ts'

test('a list that is watched ends where the screen does: its newest rows are in sight', () => {
  const list = ['HEAD', ...Array.from({ length: 50 }, (_, i) => `row ${i}`)].join('\n')
  const shown = screenful(list, { rows: 24, columns: 80 }).split('\n')
  expect(shown.length).toBeLessThan(24)
  expect(shown.slice(0, 2)).toEqual(['HEAD', 'row 0'])
  expect(shown.at(-1)).toBe('… and 29 more')
})

test('lines that the terminal breaks count as many as it makes of them, colours aside', () => {
  const long = `\u001b[31m${'x'.repeat(100)}\u001b[39m`
  expect(screenful([long, long, long, long].join('\n'), { rows: 7, columns: 60 }).split('\n')).toEqual([
    long,
    long,
    '… and 2 more',
  ])
})

test('a list that fits is whole, and so is one of which no size is known', () => {
  expect(screenful('a\nb', { rows: 24, columns: 80 })).toBe('a\nb')
  expect(screenful('a\nb\nc', {})).toBe('a\nb\nc')
})

test('what the banner of dev suggests speaks to this server, wherever it listens', () => {
  const at = (url: string) => banner({ kind: 'ready', url, database: 'runs.db', workflows: [], newToken: 't' })
  expect(at('http://localhost:5511')).toMatch(/runs --watch --url http:\/\/localhost:5511/)
  expect(at('http://localhost:5511').match(/--url http:\/\/localhost:5511/g)).toHaveLength(3)
  expect(at('http://localhost:4400')).not.toContain('--url')
})
