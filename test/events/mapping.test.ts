import { describe, expect, it } from 'vitest'
import { type BusEvent, cancelOn, signalOn, startOn } from '../../sdk/events/index.ts'
import { isMapping, mappingFromData } from '../../sdk/events/mapping.ts'
import { schedule, signal, workflow } from '../../sdk/index.ts'

const order = workflow('order', async () => {})

describe('a mapping', () => {
  it('is refused with every problem when it is written, not when an event comes', () => {
    const wrong = () => startOn('placed', { workflow: '', id: 'detail.', input: 7, payload: '$' } as never)
    expect(wrong).toThrow(/mapping 'placed' is not valid/)
    for (const problem of [
      /\$\.payload: is not known here; known: workflow, id, input/,
      /\$\.workflow: .*empty/,
      /\$\.id: cannot be evaluated as JSONata/,
      /\$\.input: must be JSONata/,
    ])
      expect(wrong).toThrow(problem)
  })

  it('says what it needs', () => {
    expect(() => startOn('a', {} as never)).toThrow('$.workflow: is missing')
    expect(() => signalOn('a', {} as never)).toThrow(/\$\.signal: is missing\n.*\$\.runId: is missing/)
    expect(() => cancelOn('a', {} as never)).toThrow('$.runId: is missing')
    expect(() => cancelOn('', { runId: '$' })).toThrow('the name of a mapping must not be empty')
  })

  it('has neither clock nor dice, because its event may come twice', () => {
    for (const input of ['$now()', '{ "at": $millis() }', '$random ()', '$shuffle(detail)'])
      expect(() => startOn('a', { workflow: 'order', input })).toThrow('uses the clock or dice')
  })

  it('is known by its shape among the exports of an entry', () => {
    const mappings = [
      startOn('a', { workflow: order }),
      signalOn('b', { signal: 'paid', runId: 'id' }),
      cancelOn('c', { runId: 'id' }),
    ]
    expect(mappings.filter(isMapping)).toEqual(mappings)
    const others = [
      order,
      signal('paid'),
      schedule('s', { every: '1h' }, order, undefined),
      { name: 'x', kind: 'start' },
      null,
      'text',
      () => {},
    ]
    expect(others.filter(isMapping)).toEqual([])
  })

  it('that is data has names and JSONata only', () => {
    expect(mappingFromData('x', { kind: 'start', workflow: 'order', input: '$' })).toEqual({
      name: 'x',
      kind: 'start',
      workflow: 'order',
      input: '$',
    })
    expect(() => mappingFromData('x', { kind: 'start', workflow: order })).toThrow('$.workflow')
    expect(() => mappingFromData('x', { kind: 'cancel', runId: () => 'a' })).toThrow(
      'Export the mapping from the entry, and give its name',
    )
    expect(() => mappingFromData('x', { kind: 'stop', runId: 'a' })).toThrow(
      '$.kind: must be one of start, signal, cancel',
    )
  })
})

it('a function of a mapping gives what its workflow or signal takes: the compiler says so', () => {
  const priced = workflow('priced', async (_ctx, input: { total: number }) => input.total)
  const paid = signal<{ cents: number }>('paid')
  startOn('right', { workflow: priced, input: (event: BusEvent<{ total: number }>) => ({ total: event.detail.total }) })
  // @ts-expect-error the input has a total
  startOn('wrong', { workflow: priced, input: () => 7 })
  // @ts-expect-error the payload has cents
  signalOn('wrong', { signal: paid, runId: 'id', payload: () => ({ pounds: 1 }) })
  // @ts-expect-error a promise is no id
  cancelOn('wrong', { runId: async () => 'x' })
})
