import { connect } from './connect.ts'
import { poll } from './poll.ts'
import { resolve } from './resolve.ts'

/** What workers use, with tokens of their own. On AWS they have an address of their own too. */
export const forWorkers = [connect, poll, resolve]
