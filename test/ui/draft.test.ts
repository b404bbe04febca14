import { expect, test } from 'vitest'
import { emptyDraft, type FieldProblem, filledIn } from '../../dashboard/form/draft.ts'
import { fieldOf } from '../../dashboard/form/schema.ts'

const schema = {
  type: 'object',
  properties: {
    meta: {
      type: 'object',
      properties: { owner: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } },
      required: ['owner'],
    },
    opts: {
      type: 'object',
      properties: { labels: { type: 'array', items: { type: 'string' } } },
      required: ['labels'],
    },
    id: { type: 'string' },
  },
  required: ['id'],
}

test('an optional object is left out, with its required fields, until its fields are filled in', () => {
  const field = fieldOf(schema, 'input')
  const problems: FieldProblem[] = []
  const draft = emptyDraft(field) as Record<string, never>
  expect(filledIn(field, { ...draft, id: 'x' }, '$', problems)).toEqual({ id: 'x' })
  expect(problems).toEqual([])
  filledIn(field, { ...draft, id: 'x', meta: { owner: { name: '' } } as never }, '$', problems)
  expect(problems).toEqual([])
  expect(filledIn(field, { ...draft, id: 'x', meta: { owner: { name: 'Ada' } } as never }, '$', problems)).toEqual({
    id: 'x',
    meta: { owner: { name: 'Ada' } },
  })
})
