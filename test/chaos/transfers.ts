import { SeededRandom } from '../../sdk/base/random.ts'
import { FatalError, StepInterruptedError, signal, workflow } from '../../sdk/index.ts'
import type { Ledger } from './ledger.ts'

export const KINDS = ['plain', 'sleepy', 'approved', 'by-a-child', 'split', 'doomed', 'noted'] as const
export type Kind = (typeof KINDS)[number]

export interface Transfer {
  kind: Kind
  from: string
  to: string
  cents: number
  napMs: number
}

/** Between the account that has paid and the one that has not got it yet. */
export const TRANSIT = 'in transit'
export const approve = signal<{ by: string }>('approve')

const ACCOUNTS = 20
export const accounts = Array.from({ length: ACCOUNTS }, (_, n) => `account ${n}`)

/** The same seed makes the same transfers. */
export function makeTransfers(count: number, seed: string): Map<string, Transfer> {
  const random = new SeededRandom(seed)
  const upTo = (most: number) => Math.floor(random.next() * most)
  const transfers = new Map<string, Transfer>()
  for (let n = 0; n < count; n++) {
    const from = upTo(ACCOUNTS)
    const to = (from + 1 + upTo(ACCOUNTS - 1)) % ACCOUNTS
    const transfer = {
      kind: KINDS[upTo(KINDS.length)]!,
      from: accounts[from]!,
      to: accounts[to]!,
      cents: 1 + upTo(10_000),
      napMs: 30 + upTo(1_500),
    }
    transfers.set(`transfer-${n}`, transfer)
  }
  return transfers
}

/** What becomes of a transfer, as workflows on a ledger. Every posting goes under the key that the engine gives its step. */
export function transferWorkflows(ledger: Ledger) {
  const moment = () => new Promise<void>((resolve) => setTimeout(resolve, 5))

  const credit = workflow('credit', async (ctx, { to, cents }: Transfer) =>
    ctx.step('credit', async ({ idempotencyKey: key }) => {
      await moment()
      ledger.post({ key, from: TRANSIT, to, cents })
    }),
  )

  const transfer = workflow('transfer', async (ctx, given: Transfer) => {
    const { kind, from, to, cents, napMs } = given
    const pay = (name: string, part: number) =>
      ctx.step(name, async ({ idempotencyKey: key }) => {
        await moment()
        ledger.post({ key, from: TRANSIT, to, cents: part })
      })

    ctx.compensate('refund', ({ idempotencyKey: key }) => ledger.post({ key, from: TRANSIT, to: from, cents }))
    await ctx.step('debit', async ({ idempotencyKey: key }) => {
      ledger.post({ key, from, to: TRANSIT, cents })
      await moment()
    })
    if (kind === 'sleepy') await ctx.sleep('nap', napMs)
    if (kind === 'approved') await ctx.waitFor(approve)
    if (kind === 'noted')
      await noted(ctx.step('note', ({ idempotencyKey }) => ledger.note(idempotencyKey), { semantics: 'at-most-once' }))
    if (kind === 'doomed') await ctx.step('fail', () => Promise.reject(new FatalError('this account is closed')))

    if (kind === 'by-a-child') await ctx.run(credit, given)
    else if (kind === 'split')
      await Promise.all([pay('credit-a', Math.floor(cents / 2)), pay('credit-b', Math.ceil(cents / 2))])
    else await pay('credit', cents)
    return cents
  })
  return [transfer, credit] as const
}

/** Whether it was noted is unknown if the process died over it, and then it must not be tried again. */
async function noted(note: Promise<void>): Promise<void> {
  await note.catch((error: Error) => {
    if (!(error instanceof StepInterruptedError) && !(error.cause instanceof StepInterruptedError)) throw error
  })
}
