import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SeededRandom } from '../../sdk/base/random.ts'
import { Client, Registry, type RunView } from '../../sdk/index.ts'
import { LocalWorld } from '../../sdk/local.ts'
import { type Audit, Ledger } from './ledger.ts'
import { approve, makeTransfers, TRANSIT, type Transfer, transferWorkflows } from './transfers.ts'
import { Victim } from './victim.ts'

export interface RampageOptions {
  seed: string
  transfers: number
  kills: number
  /** Every so many kills, one freeze. */
  freezeEvery: number
  /** Of the servers; a freeze is longer. */
  leaseMs: number
  /** Between one blow and the next, at most. */
  pauseMs: number
  log?: (line: string) => void
}

export interface Report {
  runs: number
  kills: number
  freezes: number
  /** Postings that were made again after a death or a freeze, and counted once. */
  repeats: number
  seconds: number
  problems: string[]
  /** What the servers had to say, each kind of line once, with how often it came. */
  complaints: Map<string, number>
}

/** Two servers on one file carry out transfers while they are killed and frozen at random; in the end every cent is looked for. */
export async function rampage(options: RampageOptions): Promise<Report> {
  const began = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-rampage-'))
  const path = join(folder, 'runs.db')
  const ledger = new Ledger(join(folder, 'ledger'))
  const workflows = transferWorkflows(ledger)
  const world = new LocalWorld({ path, log: () => {} })
  const client = new Client(world, new Registry(workflows))
  const transfers = makeTransfers(options.transfers, options.seed)
  const launch = () =>
    new Victim(join(import.meta.dirname, 'server.ts'), [path, join(folder, 'ledger'), String(options.leaseMs)])
  using first = launch()
  using second = launch()
  const victims = [first, second] as const
  try {
    await strike(victims, options, [...transfers], (id, transfer) => begin(client, id, transfer))
    options.log?.('all blows are dealt')
    const runs = await allEnded(client, world, options)
    await Promise.all(victims.map((victim) => victim.stop()))
    const audit = ledger.audit()
    return {
      runs: runs.length,
      kills: first.kills + second.kills,
      freezes: first.freezes + second.freezes,
      repeats: audit.repeats,
      seconds: (performance.now() - began) / 1_000,
      problems: [...audit.problems, ...problemsOf(transfers, runs, audit)],
      complaints: counted([...first.complaints, ...second.complaints]),
    }
  } finally {
    world.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Some signals come long before anybody waits for them. */
async function begin(client: Client, id: string, transfer: Transfer): Promise<void> {
  await client.start('transfer', transfer, { id })
  if (transfer.kind === 'approved') await client.signal(id, approve, { by: 'the bank' }, { idempotencyKey: id })
}

/** Each blow falls while a share of the transfers has just begun. */
async function strike(
  victims: readonly Victim[],
  { seed, kills, freezeEvery, leaseMs, pauseMs, log }: RampageOptions,
  transfers: [string, Transfer][],
  start: (id: string, transfer: Transfer) => Promise<void>,
): Promise<void> {
  const random = new SeededRandom(`${seed} blows`)
  const share = Math.ceil(transfers.length / kills)
  for (let blow = 1; blow <= kills; blow++) {
    const pause = new Promise((resolve) => setTimeout(resolve, random.next() * pauseMs))
    const started = Promise.all(transfers.splice(0, share).map(([id, transfer]) => start(id, transfer)))
    await pause
    const victim = victims[Math.floor(random.next() * victims.length)]!
    if (blow % freezeEvery === 0) await victim.freeze(leaseMs * 1.5)
    await victim.kill()
    await started
    if (blow % 20 === 0) log?.(`${blow} blows, ${transfers.length} transfers are still to start`)
  }
}

/** One that never ends is found by the limit of whoever called. */
async function allEnded(client: Client, world: LocalWorld, { transfers, log }: RampageOptions): Promise<RunView[]> {
  for (let before = -1; ; ) {
    const { runs: open } = await world.store.list({ isOpen: true, limit: 1_000 })
    if (open.length === 0) break
    if (open.every(({ status }) => status === 'stuck')) break
    if (open.length !== before) log?.(`${open.length} of ${transfers} transfers and their children are under way`)
    before = open.length
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  const all: RunView[] = []
  let cursor: string | undefined
  do {
    const page = await client.list({ workflow: 'transfer', limit: 1_000, ...(cursor !== undefined && { cursor }) })
    all.push(...(await Promise.all(page.runs.map(({ runId: id }) => client.get(id)))))
    cursor = page.cursor
  } while (cursor !== undefined)
  return all
}

function problemsOf(transfers: Map<string, Transfer>, runs: RunView[], { balances, postings }: Audit): string[] {
  const problems: string[] = []
  const expected = new Map<string, number>()
  const add = (account: string, cents: number) => expected.set(account, (expected.get(account) ?? 0) + cents)
  const byId = new Map(runs.map((run) => [run.runId, run]))
  for (const [id, { kind, from, to, cents }] of transfers) {
    const run = byId.get(id)
    const wanted = kind === 'doomed' ? 'failed' : 'completed'
    if (run?.status !== wanted)
      problems.push(`${id} (${kind}) should be ${wanted} and is ${run?.status}: ${run?.error?.message}`)
    if (kind === 'doomed') continue
    add(from, -cents)
    add(to, cents)
  }
  for (const account of new Set([...expected.keys(), ...balances.keys()])) {
    const [is, should] = [balances.get(account) ?? 0, expected.get(account) ?? 0]
    if (is !== should)
      problems.push(
        `${account} has ${is} and should have ${should}${account === TRANSIT ? ', as everything has arrived' : ''}`,
      )
  }
  const count = (kinds: Partial<Record<Transfer['kind'], number>>, other: number) =>
    [...transfers.values()].reduce((sum, { kind }) => sum + (kinds[kind] ?? other), 0)
  const wanted = count({ split: 3 }, 2)
  if (postings.size !== wanted) problems.push(`there are ${postings.size} postings, and should be ${wanted}`)
  return problems
}

/** Numbers and ids apart, they say the same. */
function counted(lines: string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const line of lines) {
    const kind = line.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|transfer-\d+|\d+/g, '…')
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return counts
}
