import * as entry from 'overwinter-workflows'
import { handlersOf, registryOf, schedulesOf } from './registry-of.ts'
import { loggerOf } from './users-logger.ts'

/** The workflows, schedules and handlers of the user's entry file. */
export const registry = registryOf(entry)
export const schedules = schedulesOf(entry)
export const handlers = handlersOf(entry)
/** The logger that the entry exports, if it does. */
export const logger = loggerOf(entry)
