import { appendFileSync, existsSync, readFileSync } from 'node:fs'

/** Money that moves from one account to another. Whoever gives the same key again means the same posting. */
export interface Posting {
  key: string
  from: string
  to: string
  cents: number
}

/**
 * A bank outside: a file to which every process appends, each line in one write that waits for the disk. Nobody holds a lock, so a
 * process that is killed or frozen keeps nobody from writing. Lines with a known key are repeats, and count for nothing.
 */
export class Ledger {
  private readonly file: string

  constructor(file: string) {
    this.file = file
  }

  post(posting: Posting): void {
    this.append({ posting })
  }

  /** What must not be done twice, and has no key that would tell. */
  note(key: string): void {
    this.append({ note: key })
  }

  private append(line: Line): void {
    appendFileSync(this.file, `${JSON.stringify(line)}\n`, { flush: true })
  }

  audit(): Audit {
    const postings = new Map<string, Posting>()
    const notes = new Map<string, number>()
    const problems: string[] = []
    let repeats = 0
    for (const { posting, note } of this.lines()) {
      if (note !== undefined) notes.set(note, (notes.get(note) ?? 0) + 1)
      if (!posting) continue
      const first = postings.get(posting.key)
      if (!first) postings.set(posting.key, posting)
      else if (JSON.stringify(first) === JSON.stringify(posting)) repeats++
      else problems.push(`the key ${posting.key} stands for two postings: ${JSON.stringify([first, posting])}`)
    }
    for (const [key, times] of notes) if (times > 1) problems.push(`the at-most-once step ${key} ran ${times} times`)
    return { postings, notes, repeats, problems, balances: balancesOf(postings.values()) }
  }

  private lines(): Line[] {
    if (!existsSync(this.file)) return []
    return readFileSync(this.file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line)
  }
}

interface Line {
  posting?: Posting
  note?: string
}

export interface Audit {
  postings: Map<string, Posting>
  notes: Map<string, number>
  /** Lines that said again what another one had said: work that was cut off and done anew. */
  repeats: number
  problems: string[]
  balances: Map<string, number>
}

function balancesOf(postings: Iterable<Posting>): Map<string, number> {
  const balances = new Map<string, number>()
  const add = (account: string, cents: number) => balances.set(account, (balances.get(account) ?? 0) + cents)
  for (const { from, to, cents } of postings) {
    add(from, -cents)
    add(to, cents)
  }
  return balances
}
