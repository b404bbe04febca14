import { expect, test } from 'vitest'
import { registryOf } from '../../functions/registry-of.ts'
import { signal, workflow } from '../../sdk/index.ts'

const a = workflow('a', async () => 1)

test('workflows are picked from the exports, whatever they are exported as and whatever lies beside them', () => {
  const b = workflow('b', { version: 2 }, async () => 2)
  const registry = registryOf({ a, again: a, default: b, approved: signal('approved'), helper: () => {}, NAMES: ['x'], nothing: null })
  expect(registry.all()).toEqual([a, b])
})

test('two different workflows of one name are a mistake, and so is none', () => {
  expect(() => registryOf({ a, other: workflow('a', async () => 2) })).toThrow("two workflows are named 'a'")
  expect(() => registryOf({ helper: () => {} })).toThrow('exports no workflow')
})
