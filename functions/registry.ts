import * as entry from 'overwinter-workflows'
import { handlersOf, registryOf, schedulesOf } from './registry-of.ts'
import { loggerOf } from './users-logger.ts'

/** The workflows, schedules and handlers of the user's entry file. */
export const registry = registryOf(entry)
export const schedules = schedulesOf(entry)
export const handlers = handlersOf(entry)
/** Where lines of the log go, if the entry says so. */
export const logger = loggerOf(entry)
