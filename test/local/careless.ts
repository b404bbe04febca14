import { workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'

/** A server with runs that do what they should not, and one bystander. Says what became of each, and ends by itself. */
const later = <T>(ms: number, value: T) => new Promise<T>((resolve) => setTimeout(resolve, ms, value))

const WORKFLOWS = [
  workflow('derived promise of a cancelled wait', async (ctx) => {
    const late = ctx.sleep('deadline', '1h').then(() => 'late')
    const label = await ctx.step('print', () => later(100, 'label'))
    return Promise.race([late, ctx.step('ship', () => `shipped ${label}`)])
  }),
  workflow('a branch that fails before it is awaited', async (ctx) => {
    const failing = ctx.step('fail', () => Promise.reject(new Error('early')), { retry: { attempts: 1 } }).then(() => 1)
    await ctx.step('slow', () => later(50, 1))
    return failing.catch(() => 'caught')
  }),
  workflow('a rejection that nobody ever awaits', async (ctx) => {
    void ctx.step('fail', () => Promise.reject(new Error('never awaited')), { retry: { attempts: 1 } }).then(() => 1)
    await ctx.sleep(30)
    return 'done'
  }),
  workflow('a rejection left behind by a step', async (ctx) =>
    ctx.step('careless', () => {
      void Promise.reject(new Error('left behind'))
      return later(20, 'done')
    }),
  ),
  workflow('an exception in a timer of a step', async (ctx) =>
    ctx.step(
      'timer',
      () =>
        new Promise(() => {
          setTimeout(() => {
            throw new Error('from a timer')
          }, 10)
        }),
      { retry: { attempts: 1 } },
    ),
  ),
  workflow('an object without a prototype', async (ctx) =>
    ctx.step(
      's',
      () => {
        throw Object.create(null)
      },
      { retry: { attempts: 1 } },
    ),
  ),
]
const bystander = workflow('bystander', async (ctx) => {
  for (let i = 0; i < 5; i++) await ctx.sleep(50)
  return 'unharmed'
})

await using local = await Local.open({ path: ':memory:', workflows: [...WORKFLOWS, bystander], log: () => {} })
await local.start(bystander, undefined, { id: 'bystander' })
for (const [i, w] of WORKFLOWS.entries()) await local.start(w, undefined, { id: `run-${i}` })
await later(30, undefined)
await local.cancel('run-0', 'operator')
for (const [i, w] of WORKFLOWS.entries()) console.log(`${w.name}: ${(await local.settled(`run-${i}`)).status}`)
console.log(`bystander: ${await local.result('bystander')}`)
