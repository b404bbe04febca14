import type { Ids } from '../../sdk/ports/world.ts'
import { Runs } from '../../sdk/rules/run-store.ts'
import type { Storage } from '../../sdk/rules/storage.ts'
import type { VirtualClock } from '../../sdk/testing/index.ts'
import { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import type { AwsInMemory } from './aws/aws-in-memory.ts'
import type { Fate, Network } from './aws/network.ts'
import type { Queue } from './aws/sqs/queue.ts'
import { LEASE_MS, type Ledger, type Process } from './cloud.ts'
import { notingClaims } from './flow/stored.ts'
import type { Fortune } from './fortune.ts'
import type { Mutant } from './mutants.ts'
import { noting } from './spies.ts'
import type { Trouble } from './trouble.ts'
import { CHORE } from './workers.ts'

export interface AwsProcess extends Process {
  readonly world: AwsWorld
  readonly isFrozen: boolean
}

interface Surroundings {
  aws: AwsInMemory
  clock: VirtualClock
  trouble: Trouble
  fortune: Fortune
  ids: Ids
  ledger: Ledger
  mutant: Mutant | undefined
  notesClaims: boolean
  queues: { wakes: Queue; chores: Queue }
  /** Which code a process gets that begins now. */
  codeOfNow: () => number
}

/** Processes on AWS: each has its own way to the services, on which everything can happen, and may be used again. */
export class AwsProcesses {
  private readonly around: Surroundings
  private idle: AwsProcess[] = []
  private count = 0

  constructor(around: Surroundings) {
    this.around = around
  }

  /** Nothing happens to it, and no bug is planted in it. */
  observer(): AwsWorld {
    return this.worldOf(this.around.aws.network('observer'), 0)
  }

  cold(): AwsProcess {
    const { aws, clock, fortune, trouble } = this.around
    const id = ++this.count
    let frozenUntil = 0
    let heldUpUntil = 0
    const claims = new Map<string, number>()
    const holdUp = (ms: number) => {
      heldUpUntil = Math.max(heldUpUntil, clock.now() + ms)
    }
    const freeze = () => {
      frozenUntil = clock.now() + fortune.between(LEASE_MS / 2, LONGEST_STALL_MS)
      network.freezeUntil(frozenUntil)
      holdUp(frozenUntil - clock.now())
    }
    const network = aws.network(`process ${id}`, () => this.fate(freeze, holdUp))
    const world = this.worldOf(network, fortune.skew(trouble.skew), claims)
    const process = {
      id,
      world,
      clock: world.clock,
      code: this.around.codeOfNow(),
      claims,
      get heldUpUntil() {
        return heldUpUntil
      },
      kill: () => network.kill(),
      get isAlive() {
        return network.isAlive
      },
      get isFrozen() {
        return frozenUntil > clock.now()
      },
    }
    return process
  }

  warmOrCold(): AwsProcess {
    const { fortune, codeOfNow } = this.around
    this.idle = this.idle.filter(({ isAlive, isFrozen }) => isAlive && !isFrozen)
    if (this.idle.length > 0 && fortune.isHeads(0.7)) {
      const process = this.idle.pop()!
      if (process.code === codeOfNow()) return process
    }
    return this.cold()
  }

  /** An invocation is over, and its process may get the next one. */
  giveBack(process: AwsProcess): void {
    if (process.isAlive) this.idle.push(process)
  }

  private fate(freeze: () => void, holdUp: (ms: number) => void): Fate {
    const { fortune, trouble } = this.around
    const { crash, stall, throttle, loseRequest, loseAnswer, latency } = trouble
    const way = { thereMs: fortune.within(latency), backMs: fortune.within(latency) }
    if (fortune.strikes(crash / CALLS_IN_ONE))
      return { ...way, outcome: fortune.isHeads() ? 'dies before' : 'dies after' }
    if (fortune.strikes(throttle)) return { outcome: 'throttled', ...way }
    if (fortune.strikes(loseRequest)) return lost('lost', holdUp)
    if (fortune.strikes(loseAnswer)) return lost('answer lost', holdUp)
    if (!fortune.strikes(stall / CALLS_IN_ONE)) return { outcome: 'done', ...way }
    // Before the call goes out, or while its answer is under way.
    if (fortune.isHeads()) freeze()
    else {
      const backMs = fortune.between(LEASE_MS / 2, LONGEST_STALL_MS)
      holdUp(way.thereMs + backMs)
      return { outcome: 'done', thereMs: way.thereMs, backMs }
    }
    return { outcome: 'done', ...way }
  }

  private worldOf(network: Network, skew: number, claims?: Map<string, number>): AwsWorld {
    const isMutant = claims !== undefined
    const { aws, queues, ids, ledger, mutant, clock } = this.around
    const world = new AwsWorld({
      table: 'runs',
      bucket: 'payloads',
      queueUrl: queues.wakes.url,
      queueArn: queues.wakes.arn,
      schedulerGroup: 'overwinter',
      schedulerRoleArn: 'arn:aws:iam::000000000000:role/scheduler',
      taskQueues: { [CHORE]: queues.chores.url },
      clients: aws.clientsOf(network),
      objects: aws.objectsOf(network),
      clock: network.clock(skew),
      ids,
      log: () => {},
    })
    const { storage: plain } = world.store as unknown as { storage: Storage }
    const planted = (isMutant && mutant?.storage?.(plain)) || plain
    const store = new Runs(noting(planted, ledger))
    const spoilt = (isMutant && mutant?.store?.(store, { clock, isAlive: () => network.isAlive })) || store
    const replaced = claims && this.around.notesClaims ? notingClaims(spoilt, claims) : spoilt
    const documents = (isMutant && mutant?.documents?.(world.documents)) || world.documents
    // Watching takes real time on AWS, and is only a convenience.
    return Object.assign(world, {
      store: Object.assign(replaced, { watch: () => () => {}, watchReply: () => () => {} }),
      documents,
    })
  }
}

/** Given up after the client's timeout, and sent again. */
function lost(outcome: 'lost' | 'answer lost', holdUp: (ms: number) => void): Fate {
  holdUp(REQUEST_TIMEOUT_MS)
  return { outcome }
}
const REQUEST_TIMEOUT_MS = 5_000

/** What the store of the other cloud does in one call takes several here. */
const CALLS_IN_ONE = 3
/** Long enough for the sweeper to send another runner. */
const LONGEST_STALL_MS = LEASE_MS * 20
