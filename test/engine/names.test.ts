import { describe, expect, it } from 'vitest'
import { InvalidInputError } from '../../sdk/base/errors.ts'
import {
  checkName,
  checkRunId,
  childRunId,
  digest,
  earlierScheduleRunId,
  escapeName,
  idempotencyKey,
  isKeyed,
  keyedMessageId,
  scheduleRunId,
  taskId,
} from '../../sdk/base/names.ts'
import { SeededRandom } from '../../sdk/base/random.ts'
import { callbackToken, readCallbackToken } from '../../sdk/engine/callback-token.ts'
import type { RunRecord } from '../../sdk/ports/run.ts'

const run = { id: 'order-1', format: 2, generation: 0 }
const later = { ...run, generation: 3 }
const old = { ...run, format: 1 }

describe('a name', () => {
  it('has 1 to 100 characters, none of which is a control character', () => {
    for (const name of ['a', 'x'.repeat(100), 'Straße ✓', ' '])
      expect(() => checkName('a step name', name)).not.toThrow()
    expect(() => checkName('a step name', 7)).toThrow('a step name must be a string, got number')
    expect(() => checkName('a step name', '')).toThrow('a step name must not be empty')
    expect(() => checkName('a step name', 'x'.repeat(101))).toThrow(
      `at most 100 characters, got 101: '${'x'.repeat(40)}…'`,
    )
    for (const control of ['\u0000', 'a\nb', '\u001f', '\u007f', '\u009f'])
      expect(() => checkName('a step name', control)).toThrow('control characters')
  })

  it('of a run is plain', () => {
    for (const id of ['a', '7', 'A.b_c:d@e+f=g~h-1', 'x'.repeat(200)]) expect(() => checkRunId(id)).not.toThrow()
    for (const id of ['', '.a', '-a', 'a b', 'a/b', 'ä', 'a\n', 'x'.repeat(201), 7, undefined])
      expect(() => checkRunId(id)).toThrow('a run id has 1 to 200')
  })

  it('is escaped where it could be taken for a path or a repeat', () => {
    expect(escapeName('plain name')).toBe('plain name')
    expect(escapeName('a/b:c~d/e:f~g')).toBe('a~1b~2c~0d~1e~2f~0g')
  })
})

describe('the id of a child', () => {
  it('is readable where it can be', () => {
    expect(childRunId(run, 'kid')).toBe('order-1.kid')
    expect(childRunId(run, 'a.b.c')).toBe('order-1.a~3b~3c')
    expect(childRunId(later, 'kid')).toBe('order-1.kid~g3')
    expect(childRunId(later, 'kid', 2)).toBe('order-1.kid~g3~r2')
    expect(childRunId(run, 'kid', 2)).toBe('order-1.kid~r2')
  })

  it('is what it was in format 1, except for a round that format 1 did not have', () => {
    expect(childRunId(old, 'a.b')).toBe('order-1.a.b')
    expect(childRunId({ ...old, generation: 3 }, 'a.b')).toBe('order-1.g3.a.b')
    expect(childRunId(old, 'a.b', 1)).toBe('order-1.a~3b~r1')
  })

  it('is shortened where it would be too long or not plain', () => {
    const id = 'x'.repeat(150)
    expect(childRunId({ ...run, id }, 'y'.repeat(60))).toBe(`${'x'.repeat(120)}.${digest(`${id}.${'y'.repeat(60)}`)}`)
    expect(childRunId(run, 'a b')).toBe(`order-1.${digest('order-1.a b')}`)
  })
})

describe('the id of a schedule’s run', () => {
  it('spells the name out, and counts from the second on', () => {
    expect(scheduleRunId('nightly-report_1', 1)).toBe('schedule.nightly-report_1')
    expect(scheduleRunId('a b.c', 2)).toBe('schedule.a~20b~2ec.2')
    expect(scheduleRunId('\u0007é✓', 1)).toBe('schedule.~07~e9~u2713')
    expect(scheduleRunId('\u00ff\u0100', 1)).toBe('schedule.~ff~u0100')
  })

  it('is shortened where it is too long, and then looks like no name', () => {
    expect(scheduleRunId('x'.repeat(110), 1)).toBe(`schedule.${'x'.repeat(110)}`)
    expect(scheduleRunId('x'.repeat(111), 1)).toBe(`schedule.${'x'.repeat(80)}~~${digest('x'.repeat(111))}`)
  })

  it('was another one in 0.1.0', () => {
    expect(earlierScheduleRunId("a b/c!'()*%")).toBe('schedule.a~20b~2Fc-----~25')
  })
})

describe('the key of a step', () => {
  it('is readable, and of its generation', () => {
    expect(idempotencyKey(run, 'pay')).toBe('order-1/pay')
    expect(idempotencyKey(later, 'pay')).toBe('order-1/~g3/pay')
    expect(idempotencyKey({ ...old, generation: 3 }, 'pay')).toBe('order-1/g3/pay')
  })

  it('has a length that services accept', () => {
    const atMost = 'x'.repeat(200 - 'order-1/'.length)
    expect(idempotencyKey(run, atMost)).toBe(`order-1/${atMost}`)
    const key = idempotencyKey(run, `${atMost}y`)
    expect(key).toBe(`order-1/${'x'.repeat(142)}~${digest(`order-1/${atMost}y`)}`)
  })
})

describe('the id of a task', () => {
  it('is parted by its first dot', () => {
    expect(taskId({ id: 'a.b~c.d~e', format: 2 }, 'step.1')).toBe('a~1b~0c~1d~0e.step.1')
    expect(taskId({ id: 'a.b', format: 1 }, 'step')).toBe('a.b.step')
  })
})

describe('the id of a message', () => {
  it('tells whether its sender gave it a key, and is the same for the same key', () => {
    // As 0.1.0 made them: a key counts across an upgrade too.
    expect([keyedMessageId('signal', 'k'), keyedMessageId('wake', 'k')]).toEqual([
      `key ${digest('k')}`,
      `wake ${digest('k')}`,
    ])
    expect(keyedMessageId('cancel', 'k')).not.toBe(keyedMessageId('signal', 'k'))
    expect(isKeyed(keyedMessageId('wake', 'k'))).toBe(true)
    expect(isKeyed(keyedMessageId('signal', 'k'))).toBe(true)
    expect(isKeyed('child key 1')).toBe(false)
    expect(digest('k')).toMatch(/^[\w-]{22}$/)
  })
})

describe('a callback token', () => {
  const owner = { id: 'run', generation: 2, secret: 'hush' } as RunRecord
  const token = callbackToken(owner, 'approve')

  it('names the run and the operation, and proves who handed it out', () => {
    const address = readCallbackToken(token)
    expect(address).toMatchObject({ runId: 'run', generation: 2, opId: 'approve' })
    expect(address.isFrom(owner)).toBe(true)
    expect(address.isFrom({ ...owner, secret: 'other' })).toBe(false)
    expect(readCallbackToken(`${token}x`).isFrom(owner)).toBe(false)
    expect(callbackToken(owner, 'approve')).toBe(token)
  })

  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  it.each([
    ['not a string', 7],
    ['without a proof', token.split('.')[0]],
    ['without an address', `.${token.split('.')[1]}`],
    ['not JSON', `${Buffer.from('{').toString('base64url')}.x`],
    ['not a list', `${encoded({ 0: 'run', 1: 2, 2: 'op' })}.x`],
    ['of the wrong parts', `${encoded([7, 2, 'op'])}.x`],
    ['without a generation', `${encoded(['run', '2', 'op'])}.x`],
    ['without an operation', `${encoded(['run', 2])}.x`],
  ])('that is %s is refused', (_, given) => {
    expect(() => readCallbackToken(given)).toThrow('this is not a callback token')
    expect(() => readCallbackToken(given)).toThrow(InvalidInputError)
  })
})

describe('seeded numbers', () => {
  it('are the same for the same seed for good: journals depend on them', () => {
    const random = new SeededRandom('run/0/step#0')
    expect([random.next(), random.next(), random.next()]).toMatchInlineSnapshot(`
      [
        0.8536925378721207,
        0.5012235189788043,
        0.27717630797997117,
      ]
    `)
    expect(random.uuid()).toMatchInlineSnapshot(`"e2889297-fb41-4a80-886a-ff25857a903d"`)
    expect(new SeededRandom('').next()).toMatchInlineSnapshot(`0.05897197755984962`)
  })

  it('are in [0, 1), and uuids are of version 4', () => {
    for (let i = 0; i < 200; i++) {
      const random = new SeededRandom(`seed ${i}`)
      const number = random.next()
      expect(number >= 0 && number < 1).toBe(true)
      expect(random.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    }
  })
})
