/** How long an interval is looked at, and how much more than asked for may begin in one: its two ends are not those of the product's. */
const WINDOW_MS = 1_000
const slack = (perSecond: number): number => 2 * perSecond + 1

interface Resume {
  perSecond: number
  /** The runs that were held, and have not gone on so far. */
  held: Set<string>
  wentOn: number[]
}

/**
 * Whether runs that were paused go on at the rate that was asked for. Only for worlds in which every message comes at once: where they
 * get lost or are late, runs that were let go one after the other are heard of together.
 */
export class Resumes {
  private readonly all = new Map<string, Resume>()

  /** Somebody is about to resume them. */
  resumed(scope: string, perSecond: number, held: readonly string[]): void {
    this.all.set(scope, { perSecond, held: new Set(held), wentOn: [] })
  }

  /** Paused again, or let go at another rate. */
  forget(scope: string): void {
    this.all.delete(scope)
  }

  /** A run has gone on. Says what is wrong with that. */
  goesOn(runId: string, now: number): string | undefined {
    for (const [scope, resume] of this.all) {
      if (!resume.held.delete(runId)) continue
      resume.wentOn.push(now)
      const lately = resume.wentOn.filter((at) => at > now - WINDOW_MS).length
      if (lately > slack(resume.perSecond))
        return `${lately} runs went on within ${WINDOW_MS} ms, though ${scope} was resumed at ${resume.perSecond} a second`
    }
    return undefined
  }
}
