import { registryOf, schedulesOf } from '../../functions/registry-of.ts'
import * as examples from '../index.ts'

/** All the examples, with the workflow of their schedules. */
export const workflows = registryOf(examples).all()
export const schedules = schedulesOf(examples)
