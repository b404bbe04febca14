import { registryOf, schedulesOf } from '../../functions/registry-of.ts'
import * as examples from '../index.ts'

/** All the examples, and what makes their schedules go. */
export const workflows = registryOf(examples).all()
export const schedules = schedulesOf(examples)
