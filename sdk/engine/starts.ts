import type { Operation } from './operation.ts'
import type { Visit } from './visit.ts'

/** A commit may grant a permit for a moment that has passed by then. It is requested again this often in one go. */
const MOST_REQUESTS = 5

/** The operations between "ready" and "begin". Those with a limit get their permit here; the others pass through. */
export class Starts {
  private readonly visit: Visit
  private ready: Operation[] = []

  constructor(visit: Visit) {
    this.visit = visit
  }

  /** Operations that may begin. */
  get any(): boolean {
    return this.ready.length > 0
  }

  /** Some operations need a permit and have not requested it. */
  get hasRequests(): boolean {
    return this.visit.permits.hasRequests
  }

  get waiting(): readonly Operation[] {
    return this.ready
  }

  add(operation: Operation): void {
    this.ready.push(operation)
  }

  take(): Operation[] {
    const { ready } = this
    this.ready = []
    return ready
  }

  drop(isDropped: (operation: Operation) => boolean): void {
    this.ready = this.ready.filter((operation) => !isDropped(operation))
  }

  /** A message has come, which may be a grant. */
  checkGrants(): void {
    this.visit.permits.checkGrants()
  }

  /** Nothing begins now. Operations that wait for a permit leave their queues, so that other runs go first. */
  leaveQueues(): void {
    this.visit.permits.leaveQueues()
  }

  /**
   * Sends requests for permits, with a commit: what the run may hold is in its journal before it holds it. At most
   * `MOST_REQUESTS` commits; requests that are left over are sent the next time. False: another runner has the run.
   */
  async sendRequests(): Promise<boolean> {
    const { permits, buffer } = this.visit
    for (let sent = 0; permits.hasRequests && sent < MOST_REQUESTS; sent++) {
      await permits.sendRequests()
      if (buffer.isDirty && !this.visit.keeps(await buffer.save())) return false
    }
    return true
  }
}
