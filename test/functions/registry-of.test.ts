import { expect, test } from 'vitest'
import { handlersOf, localFunctionsOf, registryOf } from '../../functions/registry-of.ts'
import { handler } from '../../sdk/definitions/index.ts'
import { localFunction, signal, workflow } from '../../sdk/index.ts'

const a = workflow('a', async () => 1)

test('workflows are picked from the exports, whatever they are exported as and whatever lies beside them', () => {
  const b = workflow('b', { version: 2 }, async () => 2)
  const registry = registryOf({
    a,
    again: a,
    default: b,
    approved: signal('approved'),
    helper: () => {},
    NAMES: ['x'],
    nothing: null,
  })
  expect(registry.all()).toEqual([a, b])
})

test('two different workflows of one name are a mistake, and so is none', () => {
  expect(() => registryOf({ a, other: workflow('a', async () => 2) })).toThrow("two workflows are named 'a'")
  expect(() => registryOf({ helper: () => {} })).toThrow('exports no workflow')
})

test('handlers are picked too, each name once; a file may export nothing else', () => {
  const say = handler('say', () => 'said')
  expect(handlersOf({ a, say, again: say, other: { name: 'no function' } })).toEqual([say])
  expect(registryOf({ say }).all()).toEqual([])
  expect(() => handlersOf({ say, shout: handler('say', () => 'SAID') })).toThrow("two handlers are named 'say'")
})

test('local functions are picked too, and are neither handlers nor workflows', () => {
  const charge = localFunction('charge', () => 'charged')
  expect(localFunctionsOf({ a, charge, again: charge, say: handler('say', () => 1) })).toEqual([charge])
  expect(handlersOf({ a, charge })).toEqual([])
  expect(() => registryOf({ charge })).toThrow('exports no workflow')
})
