import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { resultOf, shapeOf } from '../../functions/http/callback-page/fields.ts'
import { readForm } from '../../functions/http/form.ts'
import { InvalidInputError, workflow } from '../../sdk/index.ts'
import { Api } from './fixture.ts'

const URL_ENCODED = 'application/x-www-form-urlencoded'
const fields = (n: number): string => Array.from({ length: n }, (_, i) => `f${i}=`).join('&')

async function asking(ask: z.ZodType = z.record(z.string(), z.string())) {
  let link = ''
  const asks = workflow('ask', async (ctx) => {
    const { url, promise } = ctx.callback('approve', { schema: ask })
    await ctx.step('mail', async () => void (link = url))
    return promise
  })
  const api = await Api.open({}, [asks] as never)
  const { runId } = await api.local.start(asks, undefined)
  await api.reaches(runId, 'waiting')
  const post = (body: string | FormData, type?: string) =>
    api.app.request(link, { method: 'POST', body, ...(type !== undefined && { headers: { 'content-type': type } }) })
  return { api, runId, post, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() }
}

describe('a form that a stranger sends to a callback', () => {
  it.each([
    ['more than 1,000 fields', fields(1_001)],
    ['more than 64 KB', `f=${'x'.repeat(64 * 1024)}`],
  ])('is refused with a sentence, and the run waits on: %s', async (_what, body) => {
    await using it = await asking()
    const refused = await it.post(body, URL_ENCODED)
    expect([refused.status, await refused.text()]).toEqual([
      413,
      expect.stringContaining('a form may have at most 1000 fields and 65536 bytes; nothing was written'),
    ])
    expect((await it.api.local.get(it.runId)).status).toBe('waiting')
    expect((await it.post('a=b', URL_ENCODED)).status).toBe(202)
  })

  it('that is too long is refused before any of it is parsed', async () => {
    const unread = new Proxy(new TextEncoder().encode(`f=${'x'.repeat(64 * 1024)}`), {
      get(body, property) {
        if (property !== 'length') throw new Error(`'${String(property)}' of the body was read`)
        return body.length
      },
    })
    await expect(readForm(unread, URL_ENCODED)).rejects.toThrow('a form may have at most 1000 fields and 65536 bytes')
  })

  it('is refused with too many parts as well', async () => {
    await using it = await asking()
    const form = new FormData()
    for (let i = 0; i < 1_001; i++) form.append('f', '')
    expect((await it.post(form)).status).toBe(413)
  })

  it('may have 1,000 fields, and the first value of a name counts', async () => {
    await using it = await asking()
    expect((await it.post(`${fields(999)}&f0=second`, URL_ENCODED)).status).toBe(202)
    const result = (await it.api.local.result(it.runId)) as Record<string, string>
    expect([Object.keys(result).length, result.f0]).toEqual([999, ''])
  })

  it('is looked into once for each field', async () => {
    const form = await readForm(new TextEncoder().encode(fields(1_000)), URL_ENCODED)
    let looks = 0
    const counting = new Map(form)
    counting.get = (name) => {
      looks++
      return form.get(name)
    }
    resultOf(shapeOf(z.object({ f1: z.string() })), counting)
    expect(looks).toBe(1_000)
  })
})

describe('problems', () => {
  it('are listed up to a hundred, on the page and in JSON, each cut short', async () => {
    await using it = await asking(z.record(z.string(), z.number()))
    const page = await (await it.post(fields(500), URL_ENCODED)).text()
    expect(page.match(/class="problem"/g)).toHaveLength(100)
    expect(page).toContain('and 401 more')
    const result = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`${i}${'x'.repeat(1_100)}`, 'no number']))
    const refused = await it.post(JSON.stringify({ result }), 'application/json')
    const { problems } = (await refused.json()) as { problems: { path: string; message: string }[] }
    expect([refused.status, problems.length, problems.at(-1)]).toEqual([
      422,
      100,
      { path: '$', message: 'and 101 more' },
    ])
    for (const { path } of problems) expect(path.length).toBeLessThanOrEqual(1_000)
  })

  it('of a request are too', async () => {
    await using api = await Api.open()
    const body = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, 1]))
    const { status, body: answer } = await api.post('/workflows/sleeper/runs', body)
    expect([status, answer.problems.length, answer.problems.at(-1).message]).toEqual([400, 100, 'and 4901 more'])
  })

  it('told again say the same', () => {
    const many = Array.from({ length: 300 }, (_, i) => ({ path: `$[${i}]`, message: 'is wrong' }))
    const { problems } = new InvalidInputError('no', many)
    expect(new InvalidInputError('no', problems).problems).toEqual(problems)
    expect(problems).toHaveLength(100)
  })

  it('and JSON are refused where they are long: a schema would find each of a million items wrong', async () => {
    await using it = await asking()
    const body = JSON.stringify({ result: { items: Array.from({ length: 140_000 }, () => 1) } })
    const refused = await it.post(body, 'application/json')
    expect([refused.status, (await it.api.local.get(it.runId)).status]).toEqual([413, 'waiting'])
  })

  it('cannot name an error so that it forges lines in a terminal', async () => {
    await using it = await asking()
    const refused = await it.post(
      JSON.stringify({ error: { name: 'Error\n  order-18  completed', message: 'm' } }),
      'application/json',
    )
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('without control characters')])
  })
})
