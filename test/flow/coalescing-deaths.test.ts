import { inflateRawSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { slowCloud } from '../outside/slow-cloud.ts'
import type { Attributes } from '../sim/aws/values/attribute-value.ts'

const SECRET = 'canary-77ad'
interface Patient {
  customer: string
  diagnosis: string
}
const key = ({ customer }: Patient) => customer
const flows = {
  debounced: { debounce: { key, wait: '10s' } },
  batched: { batch: { key, wait: '10s', size: 10 } },
} as const
/** Does not get smaller by compression, and is too large for an item. */
const large = Array.from({ length: 60_000 }, (_, i) => ((i * 2_654_435_761) % 4_294_967_296).toString(36)).join('')
const cases = Object.keys(flows).flatMap((how) => [
  [how as keyof typeof flows, 'small', ''] as const,
  [how as keyof typeof flows, 'over 350 KB', large] as const,
])

function stage(how: keyof typeof flows, seed: string) {
  const w = workflow('w', flows[how] as object, async (ctx, _: unknown) => ctx.step('go', () => 1))
  const cloud = slowCloud([w], seed)
  const text = (_key: string, value: unknown) =>
    value instanceof Uint8Array ? inflateRawSync(value).toString() : value
  const inTable = () => JSON.stringify([...cloud.table.items()], text)
  const inBucket = () =>
    cloud.aws.objects
      .list('')
      .map(({ key: name }) => inflateRawSync(cloud.aws.objects.get(name)).toString())
      .join()
  /** Starts in the inbox of a run. */
  const inMail = () =>
    [...cloud.table.items()]
      .filter(({ item }) => item.sk?.S?.startsWith('M#start ') && !isClosed(item))
      .map(({ item }) => item.sk!.S!)
  return { ...cloud, w, inTable, inBucket, inMail }
}

/** What closes a slot holds no input, and stays: its start may still be on its way. */
const isClosed = ({ body }: Attributes): boolean => body?.S?.includes('"closed":true') === true

test.each(cases)(
  'whenever the runner of a %s run dies, the next one removes the starts (%s), and erasing leaves nothing',
  async (how, _size, filler) => {
    const left: unknown[] = []
    for (let n = 1; n <= 16; n++) {
      const { open, take, wait, stop, w, inTable, inBucket, inMail } = stage(how, `death ${n}`)
      const client = open()
      const start = (diagnosis: string) =>
        client.start(w as never, { customer: 'c', diagnosis: `${diagnosis} ${filler}` } as never)
      const { runId } = await start(`${SECRET} 1`)
      await start(`${SECRET} 2`)
      await start(`${SECRET} 3`)
      expect(inMail().length).toBeGreaterThan(0)
      await wait(11_000)
      await Promise.race([
        take(
          open((nth) => nth === n),
          runId,
        ),
        wait(40_000),
      ])
      await wait(40_000)
      for (let i = 0; i < 3; i++) await take(client, runId)
      const { status } = await client.get(runId)
      const mail = inMail()
      await client.erase(runId)
      const what = { table: inTable().includes(SECRET), bucket: inBucket().includes(SECRET), mail }
      if (status !== 'completed' || mail.length > 0 || what.table || what.bucket) left.push({ n, status, ...what })
      stop()
    }
    expect(left).toEqual([])
  },
  120_000,
)

test.each(cases)(
  '%s starts (%s) go when their run is cancelled or terminated before it takes them',
  async (how, _size, filler) => {
    for (const ending of ['cancel', 'terminate'] as const) {
      const { open, take, wait, stop, w, inTable, inBucket, inMail } = stage(how, ending)
      const client = open()
      const start = (diagnosis: string) =>
        client.start(w as never, { customer: 'c', diagnosis: `${diagnosis} ${filler}` } as never)
      const { runId } = await start(`${SECRET} 1`)
      await start(`${SECRET} 2`)
      await client[ending](runId)
      await wait(11_000)
      await take(client, runId)
      expect((await client.get(runId)).status).toBe(ending === 'cancel' ? 'cancelled' : 'terminated')
      expect(inMail()).toEqual([])
      expect((await start('another')).runId).not.toBe(runId)
      await client.erase(runId)
      expect(inTable()).not.toContain(SECRET)
      expect(inBucket()).not.toContain(SECRET)
      stop()
    }
  },
)

test.each(Object.keys(flows) as (keyof typeof flows)[])(
  'whenever the sender of %s starts dies, no run is without input and nothing is left for good',
  async (how) => {
    const bad: unknown[] = []
    for (let n = 1; n <= 10; n++) {
      for (const before of [0, 1]) {
        const { open, take, wait, stop, w, table, clock } = stage(how, `sender ${n} ${before}`)
        const client = open()
        const start = (by: typeof client, diagnosis: string) =>
          by.start(w as never, { customer: 'c', diagnosis } as never, { idempotencyKey: diagnosis })
        for (let i = 0; i < before; i++) await start(client, 'first')
        void start(
          open((nth) => nth === n),
          SECRET,
        ).catch(() => {})
        await wait(5_000)
        await start(client, SECRET)
        for (let i = 0; i < 4; i++) {
          await wait(12_000)
          for (const { runId } of (await client.list({ workflow: 'w' })).runs) await take(client, runId)
        }
        const { runs } = await client.list({ workflow: 'w' })
        const inputs = await Promise.all(runs.map(async ({ runId }) => JSON.stringify((await client.get(runId)).input)))
        const times = inputs.join().split(SECRET).length - 1
        if (times !== 1 || runs.some(({ status }) => status !== 'completed')) bad.push({ n, before, inputs })
        const documents = [...table.items()].filter(({ item }) => item.pk!.S!.startsWith('DOC#'))
        const forGood = documents.filter(
          ({ item }) => item.ttl === undefined || Number(item.ttl.N) * 1_000 > clock.now() + 2 * 86_400_000,
        )
        if (forGood.length > 0) bad.push({ n, before, forGood: forGood.map(({ item }) => item.pk!.S) })
        stop()
      }
    }
    expect(bad).toEqual([])
  },
  120_000,
)

test.each(Object.keys(flows) as (keyof typeof flows)[])(
  'a %s start that is held up at any point is in one run, whenever the first runner of the run before it dies',
  async (how) => {
    const bad: unknown[] = []
    for (let slow = 1; slow <= 6; slow++) {
      for (let dies = 2; dies <= 9; dies++) {
        const { open, take, wait, stop, w } = stage(how, `slow ${slow} ${dies}`)
        const client = open()
        const input = (diagnosis: string) => ({ customer: 'c', diagnosis }) as never
        const first = await client.start(w as never, input('first'))
        const held = open(
          () => false,
          (nth) => (nth === slow ? 100_000 : 0),
        )
        let answered: string | undefined
        const starting = held.start(w as never, input(SECRET)).then(({ runId }) => {
          answered = runId
        })
        await wait(11_000)
        const takenBy = (nth: number) => nth === dies
        await Promise.race([take(open(takenBy), first.runId, { lease: { owner: 'r', ms: 5_000 } }), wait(20_000)])
        for (let i = 0; i < 3; i++) {
          await wait(10_000)
          await take(client, first.runId, { lease: { owner: 'r', ms: 5_000 } })
        }
        await starting
        await wait(11_000)
        for (let i = 0; i < 2; i++) await take(client, answered!)
        const ids = [...new Set([first.runId, answered!])]
        const runs = await Promise.all(ids.map((id) => client.get(id)))
        const times = runs.filter((run) => JSON.stringify(run.input).includes(SECRET)).length
        if (times !== 1 || runs.some(({ status }) => status !== 'completed'))
          bad.push({ slow, dies, runs: runs.map(({ status, input: had }) => ({ status, had })) })
        stop()
      }
    }
    expect(bad).toEqual([])
  },
  120_000,
)
