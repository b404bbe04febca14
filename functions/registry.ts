import * as entry from 'overwinter-workflows'
import { registryOf, schedulesOf } from './registry-of.ts'

/** The workflows and schedules of the user's entry file. */
export const registry = registryOf(entry)
export const schedules = schedulesOf(entry)
